import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { settleAll } from '../../concurrency/settle-all.ts';
import { RuntimeError, toRuntimeError } from '../../error.ts';
import { removeTree } from '../../kernel/remove-tree.ts';
import { unmountEveryAside } from '../../kernel/syscalls.ts';
import { detachSlots, freeSlots } from '../../network/free-slots.ts';
import { listSlots, reserveSlot } from '../../network/slots.ts';
import type { InstanceSpec } from '../../runtime.ts';
import { parseInstanceId } from '../instance-spec.ts';
import { removeCgroupParent } from './cgroup/cgroup.ts';
import { endProcesses } from './container/end-processes.ts';
import { releaseOciState } from './container/oci-runtime.ts';
import { discardDisk } from './disk/disk.ts';
import { requireRoom } from './disk/require-room.ts';
import { type SandboxFolder, toSandboxesDir, toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import type { Run } from './instance.ts';
import { readRecord, type SandboxRecord, writeRecord } from './record.ts';
import { openOrigin } from './snapshots/origin.ts';

/**
 * Makes disk, container and agent of a record, for a new sandbox and for a resume. When it rejects, what it made still
 * exists.
 */
export type StartRun = (
  record: SandboxRecord,
  options: { signal: AbortSignal | undefined; prepareDisk: () => Promise<void> },
) => Promise<Run>;

/**
 * Makes a sandbox in five steps: claim, network, disk, container, agent. `undo` has the same five. When a step fails,
 * or the process is killed in the middle, `removeSandbox` undoes all of them. Rejects with `already_exists`, and with `exhausted`
 * where the disk of the host has only its reserve, with nothing changed, and otherwise as `openOrigin` and `startRun` do, with nothing left behind.
 */
export const createSandbox = async (
  host: OciHost,
  spec: InstanceSpec,
  {
    startRun,
    remove,
    signal,
  }: { startRun: StartRun; remove: () => Promise<void>; signal: AbortSignal | undefined },
): Promise<Run> => {
  const { dataDir, stateDir } = host;
  const { id, hostname, limits, network } = spec;
  requireRoom(dataDir);
  await claim(host, id);
  try {
    const { prepareMemory, prepareDisk, rootfs, diskBaseId, ...origin } = await openOrigin(
      host,
      spec,
      signal,
    );
    const slot = await reserveSlot({ dataDir, id, stateDir, foreignIds: await host.readForeignIds() });
    const record: SandboxRecord = {
      version: 1,
      spec: { id, rootfs, hostname, limits, network },
      ...origin,
      birthId: randomUUID(),
      runId: randomUUID(),
      slot,
      diskBaseId: diskBaseId ?? host.toBaseId(slot),
      phase: 'starting',
    };
    const folder = toSandboxFolder(dataDir, id);
    await writeRecord(folder.record, record);
    prepareMemory(id);
    const run = await startRun(record, { signal, prepareDisk: () => prepareDisk(record) });
    // Quick, and so not in another thread: the files are hard links, and their content stays under other names.
    if (record.memory) rmSync(folder.memory, { recursive: true, force: true });
    return run;
  } catch (error) {
    await remove();
    throw error;
  }
};

/**
 * Ends every process of a sandbox and removes every trace of it, in any state: it may be running, be left incomplete by
 * a process that was killed, or not exist any more. Rejects with `internal` when a step cannot be undone; a further
 * call continues from there.
 */
export const removeSandbox = async (host: OciHost, id: string): Promise<void> => {
  try {
    const slots = await findSlots(host, id);
    const removeRest = async (): Promise<void> => {
      await undo.agent(host, id);
      await settleAll([undo.container(host, id), undo.disk(host, id)]);
      removeAllButRecord(toSandboxFolder(host.dataDir, id));
    };
    // Each takes the kernel some time, and neither depends on the other.
    await settleAll([removeRest(), detachSlots(host, id, slots)]);
    await undo.network(host, id, slots);
    undo.claim(host, id);
  } catch (error) {
    throw toRuntimeError(error, `removing sandbox ${id}`);
  }
};

/**
 * Step → function that removes everything that the step may have left, also when it was interrupted. Does
 * nothing where nothing is left.
 */
const undo = {
  /** The agent is the first process inside. */
  agent: endProcesses,
  container: async (host: OciHost, id: string): Promise<void> => {
    await settleAll([host.cgroup(id).remove(), releaseOciState(toSandboxFolder(host.dataDir, id))]);
  },
  /** The root lies on the disk, and is unmounted first. */
  disk: async (host: OciHost, id: string): Promise<void> => {
    const { lower, root, disk, image, memory } = toSandboxFolder(host.dataDir, id);
    await unmountEveryAside(lower);
    await unmountEveryAside(root);
    host.roots.release(id);
    await discardDisk(disk);
    await Promise.all([image, memory].map(removeTree));
  },
  network: freeSlots,
  /** The folder shows that there is something to remove, so it is removed last. */
  claim: (host: OciHost, id: string): void => {
    rmSync(toSandboxFolder(host.dataDir, id).path, { recursive: true, force: true });
    // No await between the check and the removal: a create that begins now has made its folder, or will make the parent
    // again.
    if (readdirSync(toSandboxesDir(host.dataDir)).length === 0)
      removeCgroupParent(host.cgroups, host.cgroupParent);
  },
};

/** While the kernel removes the links, which takes longest. Without the record the slot would have to be looked for. */
const removeAllButRecord = ({ path, record }: SandboxFolder): void => {
  if (!existsSync(path)) return;
  for (const name of readdirSync(path)) {
    const found = join(path, name);
    if (found !== record) rmSync(found, { recursive: true, force: true });
  }
};

/**
 * Makes the folder of the sandbox. Rejects with `already_exists`, and with `internal` for an id that is not a valid
 * folder name.
 */
const claim = async ({ dataDir }: OciHost, id: string): Promise<void> => {
  parseInstanceId(id);
  await mkdir(toSandboxesDir(dataDir), { recursive: true, mode: 0o711 });
  try {
    await mkdir(toSandboxFolder(dataDir, id).path, { mode: 0o711 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new RuntimeError('already_exists', `sandbox ${id} exists already`);
  }
};

/**
 * Returns the slots in the record, or in the table of slots when the maker of the sandbox was killed before
 * it had written one.
 */
const findSlots = async ({ dataDir, stateDir }: OciHost, id: string): Promise<number[]> => {
  const record = await readRecord(toSandboxFolder(dataDir, id).record);
  if (record) return [record.slot];
  return (await listSlots({ dataDir, stateDir })).filter((slot) => slot.id === id).map(({ slot }) => slot);
};
