import { existsSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { settleAll } from '../../concurrency/settle-all.ts';
import { toRuntimeError } from '../../error.ts';
import { unmountEveryAside } from '../../kernel/syscalls.ts';
import { listSlots } from '../../network/slots.ts';
import { removeCgroupParent } from './cgroup/cgroup.ts';
import { endProcesses } from './container/end-processes.ts';
import { releaseOciState } from './container/oci-runtime.ts';
import { discardDisk } from './disk/disk.ts';
import { type SandboxFolder, toSandboxesDir, toSandboxFolder } from './folder.ts';
import { detachSlots, freeSlots } from './free-slots.ts';
import type { OciHost } from './host.ts';
import { readRecord } from './record.ts';

/**
 * Ends every process of a sandbox and removes every trace of it, however much of it there is: it may run, be half
 * made by a process that was killed, or be gone already. The folder, which says that there is something to remove,
 * goes last. Rejects with `internal` when something resists; calling it again goes on from there.
 */
export const removeSandbox = async (host: OciHost, id: string): Promise<void> => {
  try {
    const folder = toSandboxFolder(host.dataDir, id);
    const cgroup = host.cgroup(id);
    const slots = await findSlots(host, id);
    const removeRest = async (): Promise<void> => {
      await endProcesses(host, id);
      await settleAll([cgroup.remove(), removeFiles(folder)]);
    };
    // The kernel takes its time for either, and neither needs the other.
    await settleAll([removeRest(), detachSlots(host, id, slots)]);
    await freeSlots(host, id, slots);
    rmSync(folder.path, { recursive: true, force: true });
    removeParentWhenLast(host);
  } catch (error) {
    throw toRuntimeError(error, `removing sandbox ${id}`);
  }
};

/** All but the record, without which the slot would be looked for among those of all sandboxes. */
const removeFiles = async (folder: SandboxFolder): Promise<void> => {
  await unmountEveryAside(folder.lower);
  await unmountEveryAside(folder.root);
  await releaseOciState(folder);
  await discardDisk(folder.disk);
  // What may be large goes in threads of its own; the rest is gone before another thread would begin with it.
  await Promise.all([folder.image, folder.memory].map((path) => rm(path, { recursive: true, force: true })));
  const names = existsSync(folder.path) ? readdirSync(folder.path) : [];
  const rest = names.map((name) => `${folder.path}/${name}`).filter((path) => path !== folder.record);
  for (const path of rest) rmSync(path, { recursive: true, force: true });
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
