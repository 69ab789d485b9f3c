import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError, toRuntimeError } from '../../error.ts';
import { detachNetwork } from '../../network/attach.ts';
import { listSlots, ownsSlot, releaseSlot } from '../../slots.ts';
import { removeCgroupParent } from './cgroup.ts';
import { discardDisk } from './disk.ts';
import { toSandboxesDir, toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import { adoptLifeLine } from './life-line.ts';
import { readRecord } from './record.ts';
import { unmountEvery } from './syscalls.ts';

const KILL_DEADLINE_MS = 10_000;

/**
 * Ends every process of a sandbox and removes every trace of it, however much of it there is: it may run, be half
 * made by a process that was killed, or be gone already. The folder, which says that there is something to remove,
 * goes last. Rejects with `internal` when something resists; calling it again goes on from there.
 */
export const removeSandbox = async (host: OciHost, id: string): Promise<void> => {
  try {
    const folder = toSandboxFolder(host.dataDir, id);
    const cgroup = host.cgroup(id);
    await endProcesses(host, id);
    unmountEvery(folder.lower);
    unmountEvery(folder.root);
    discardDisk(folder.disk);
    await Promise.all([cgroup.remove(), freeSlots(host, id)]);
    await rm(folder.path, { recursive: true, force: true });
    removeParentWhenLast(host);
  } catch (error) {
    throw toRuntimeError(error, `removing sandbox ${id}`);
  }
};

/**
 * Kills until nobody is left. Two things must be true: the cgroup has no member, and the life line has ended; an OCI
 * runtime that outlived the process that had started it holds the line while there is no cgroup yet.
 */
const endProcesses = async (host: OciHost, id: string): Promise<void> => {
  const cgroup = host.cgroup(id);
  const line = adoptLifeLine(toSandboxFolder(host.dataDir, id).lifeLine);
  const deadline = Date.now() + KILL_DEADLINE_MS;
  try {
    for (;;) {
      const hadMembers = await cgroup.kill();
      const isOver = line === undefined || line.isEnded();
      if (!hadMembers && isOver) return;
      if (Date.now() > deadline) throw new RuntimeError('internal', `sandbox ${id} does not end`);
      await (isOver ? sleep(2) : Promise.race([line.ended, sleep(20)]));
    }
  } finally {
    line?.close();
  }
};

/** A slot that was given back a moment before a crash may belong to another sandbox by now: then it is left alone. */
const freeSlots = async (host: OciHost, id: string): Promise<void> => {
  const { dataDir, stateDir } = host;
  for (const slot of await findSlots(host, id)) {
    const owned = { dataDir, stateDir, id, slot };
    if (!(await ownsSlot(owned))) continue;
    await detachNetwork({ slot });
    await releaseSlot(owned);
  }
};

/** From the record, or from the table of slots when the sandbox's maker was killed before it had written one. */
const findSlots = async ({ dataDir, stateDir }: OciHost, id: string): Promise<number[]> => {
  const record = await readRecord(toSandboxFolder(dataDir, id).record);
  if (record) return [record.slot];
  return (await listSlots({ dataDir, stateDir })).filter((slot) => slot.id === id).map(({ slot }) => slot);
};

/** Looking and removing in one go: a create that begins now has made its folder, or will make the parent again. */
const removeParentWhenLast = (host: OciHost): void => {
  if (readdirSync(toSandboxesDir(host.dataDir)).length === 0)
    removeCgroupParent(host.cgroups, host.cgroupParent);
};
