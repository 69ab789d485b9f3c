import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
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
import { toSandboxesDir, toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import type { Run } from './instance.ts';
import { toRecordLevel } from './isolation.ts';
import { readRecord, type SandboxRecord, writeRecord } from './record.ts';
import { openOrigin } from './snapshots/origin.ts';

/** Makes disk, container and agent of a record, for a new sandbox and for a resume. What it made is still there when it rejects. */
export type Boot = (
  record: SandboxRecord,
  options: { signal: AbortSignal | undefined; prepareDisk: () => Promise<void> },
) => Promise<Run>;

/**
 * Makes a sandbox in five steps: claim, network, disk, container, agent. `undo` has the same five. When a step fails, or the
 * process is killed in the middle, `removeSandbox` undoes all of them.
 * Rejects with `already_exists`, with nothing changed, and otherwise as `openOrigin` and `boot` do, with nothing left behind.
 */
export const createSandbox = async (
  host: OciHost,
  spec: InstanceSpec,
  { boot, remove, signal }: { boot: Boot; remove: () => Promise<void>; signal: AbortSignal | undefined },
): Promise<Run> => {
  const { dataDir, stateDir } = host;
  const { id, hostname, limits, network } = spec;
  await claim(host, id);
  try {
    const { prepareMemory, prepareDisk, rootfs, diskBaseId, ...origin } = await openOrigin(host, spec);
    const slot = await reserveSlot({ dataDir, id, stateDir });
    const record: SandboxRecord = {
      version: 1,
      spec: { id, rootfs, hostname, limits, network },
      ...origin,
      birthId: randomUUID(),
      runId: randomUUID(),
      ...toRecordLevel(host),
      slot,
      diskBaseId: diskBaseId ?? host.toBaseId(slot),
      phase: 'starting',
    };
    const folder = toSandboxFolder(dataDir, id);
    await writeRecord(folder.record, record);
    prepareMemory(id);
    const run = await boot(record, { signal, prepareDisk: () => prepareDisk(record) });
    // Names of files that lie elsewhere, which are quickly gone.
    if (record.memory) rmSync(folder.memory, { recursive: true, force: true });
    return run;
  } catch (error) {
    await remove();
    throw error;
  }
};

/**
 * Ends every process of a sandbox and removes every trace of it, however much of it there is: it may run, be half made by a
 * process that was killed, or be gone already. Rejects with `internal` when a step cannot be undone; calling it again goes on
 * from there.
 */
export const removeSandbox = async (host: OciHost, id: string): Promise<void> => {
  try {
    const slots = await findSlots(host, id);
    const removeRest = async (): Promise<void> => {
      await undo.agent(host, id);
      await settleAll([undo.container(host, id), undo.disk(host, id)]);
    };
    // The kernel takes its time for either, and neither needs the other.
    await settleAll([removeRest(), detachSlots(host, id, slots)]);
    await undo.network(host, id, slots);
    undo.claim(host, id);
  } catch (error) {
    throw toRuntimeError(error, `removing sandbox ${id}`);
  }
};

/** By step: removes all that the step may have left, also half of it. Does nothing where there is nothing. */
const undo = {
  /** The agent is the first process of all that run inside. */
  agent: endProcesses,
  container: async (host: OciHost, id: string): Promise<void> => {
    await settleAll([host.cgroup(id).remove(), releaseOciState(toSandboxFolder(host.dataDir, id))]);
  },
  /** The root lies on the disk, so that goes first. */
  disk: async (host: OciHost, id: string): Promise<void> => {
    const { lower, root, disk, image, memory } = toSandboxFolder(host.dataDir, id);
    await unmountEveryAside(lower);
    await unmountEveryAside(root);
    await discardDisk(disk);
    await Promise.all([image, memory].map(removeTree));
  },
  network: freeSlots,
  /** The folder says that there is something to remove, so it goes last. */
  claim: (host: OciHost, id: string): void => {
    rmSync(toSandboxFolder(host.dataDir, id).path, { recursive: true, force: true });
    // Looking and removing in one go: a create that begins now has made its folder, or will make the parent again.
    if (readdirSync(toSandboxesDir(host.dataDir)).length === 0)
      removeCgroupParent(host.cgroups, host.cgroupParent);
  },
};

/** Makes the folder of the sandbox. Rejects with `already_exists`, and with `internal` for an id that is no name of a folder. */
const claim = async ({ dataDir }: OciHost, id: string): Promise<void> => {
  parseInstanceId(id);
  await mkdir(toSandboxesDir(dataDir), { recursive: true, mode: 0o711 });
  try {
    await mkdir(toSandboxFolder(dataDir, id).path, { mode: 0o711 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new RuntimeError('already_exists', `there is a sandbox ${id}`);
  }
};

/** From the record, or from the table of slots when the sandbox's maker was killed before it had written one. */
const findSlots = async ({ dataDir, stateDir }: OciHost, id: string): Promise<number[]> => {
  const record = await readRecord(toSandboxFolder(dataDir, id).record);
  if (record) return [record.slot];
  return (await listSlots({ dataDir, stateDir })).filter((slot) => slot.id === id).map(({ slot }) => slot);
};
