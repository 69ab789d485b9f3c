import { readdir, rm, rmdir } from 'node:fs/promises';
import { settleAll } from '../../concurrency/settle-all.ts';
import { unmountEveryAside } from '../../kernel/syscalls.ts';
import { detachSlots, freeSlots } from '../../network/free-slots.ts';
import { type PacketStop, stopPackets } from '../../network/packet-stop.ts';
import { endProcesses } from './container/end-processes.ts';
import { releaseOciState } from './container/oci-runtime.ts';
import { readPid } from './container/read-pid.ts';
import { type Checkpoint, isPages, keepImages } from './criu/checkpoint.ts';
import { continueProcesses } from './criu/continue-processes.ts';
import type { Criu } from './criu/criu.ts';
import { dumpMemory, readHostBootId } from './criu/dump.ts';
import { freezeAtRest } from './criu/freeze-at-rest.ts';
import { waitForClosedHostConnections } from './criu/host-connections.ts';
import { endRepair } from './criu/sockets/end-repair.ts';
import { flushDisk } from './disk/close-disk.ts';
import type { KeptDisk } from './disk/kept-disk.ts';
import { writeOutMeanwhile } from './disk/write-out-meanwhile.ts';
import { keptNames, type SandboxFolder, toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import { keepRecord, type SandboxRecord, writeRecord } from './record.ts';

/**
 * The first half of a pause: nothing inside runs any more, everything it wrote is in the image, and the record says
 * `pausing`. With `criu`, the processes are kept as well. Rejects when the files or the processes cannot be written
 * out: everything inside continues then, except where CRIU was killed. `settlePause` must follow.
 */
export const beginPause = async (
  host: OciHost,
  record: SandboxRecord,
  { criu }: { criu: Criu | undefined },
): Promise<SandboxRecord> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  const cgroup = host.cgroup(record.spec.id);
  const pids = criu ? await cgroup.members() : [];
  // Most of it is written while they still run: little remains when they are frozen.
  await settleAll([flushDisk(folder.disk), criu ? waitForClosedHostConnections(pids) : Promise.resolve()]);
  const first = readPid(folder);
  await (criu ? freezeAtRest(cgroup, first) : cgroup.freeze());
  let packets: PacketStop | undefined;
  try {
    packets = criu && (await stopPackets(first));
    let memory: Checkpoint | undefined;
    if (criu) {
      const dump = () => dumpMemory({ host, criu }, record, { imagesDir: folder.memory });
      // Their last writes go out meanwhile: afterwards little remains to wait for.
      [memory] = await settleAll([
        writeOutMeanwhile({ folder: folder.memory, isLarge: isPages }, dump),
        flushDisk(folder.disk),
      ]);
    }
    await flushDisk(folder.disk);
    // Clients are disconnected before the record says that the run ends: after it, nothing may fail.
    if (criu) await endRepair(cgroup, folder);
    await packets?.end();
    const pausing: SandboxRecord = { ...record, phase: 'pausing', ...(memory && { memory }) };
    await writeRecord(folder.record, pausing);
    return pausing;
  } catch (error) {
    await (criu ? continueProcesses(cgroup, { reusing: folder.reusing, packets }) : cgroup.thaw());
    throw error;
  }
};

/**
 * Ends what remains of a run and resolves with the record of the paused sandbox when that, and the files, are on the
 * medium. Works after a `beginPause`, after a failed resume, after a crash in either or in this, and after a power cut.
 * When it rejects it can be called again.
 */
export const settlePause = async (host: OciHost, record: SandboxRecord): Promise<SandboxRecord> => {
  const { id } = record.spec;
  const folder = toSandboxFolder(host.dataDir, id);
  const closeFiles = async (): Promise<KeptDisk> => {
    await unmountEveryAside(folder.lower);
    await unmountEveryAside(folder.root);
    await releaseOciState(folder);
    await host.disks.close({ image: folder.image, target: folder.disk });
    return host.disks.describe(folder.image);
  };
  // The kernel takes time for each of these, and so does the disk for the memory.
  const endRun = async (): Promise<KeptDisk> => {
    await endProcesses(host, id);
    const [kept] = await settleAll([
      closeFiles(),
      host.cgroup(id).remove(),
      detachSlots(host, id, [record.slot]),
    ]);
    return kept;
  };
  const [memory, kept] = await settleAll([settleMemory(folder, record), endRun()]);
  await settleAll([
    freeSlots(host, id, [record.slot]),
    clearFolder(folder, { keepsMemory: memory !== undefined }),
  ]);
  const { memory: _, ...rest } = record;
  const paused: SandboxRecord = { ...rest, phase: 'paused', kept, ...(memory && { memory }) };
  await keepRecord(folder.record, paused);
  return paused;
};

/** Undefined when there are none, or incomplete ones: a power cut leaves files damaged that were being written. */
const settleMemory = async (
  folder: SandboxFolder,
  { memory }: SandboxRecord,
): Promise<Checkpoint | undefined> => {
  if (memory === undefined || memory.images !== undefined) return memory;
  if (memory.hostBootId !== (await readHostBootId())) return undefined;
  return { ...memory, images: await keepImages(folder.memory) };
};

/** Keeps the record and the files that it needs. */
const clearFolder = async (
  folder: SandboxFolder,
  { keepsMemory }: { keepsMemory: boolean },
): Promise<void> => {
  // Remove it only when it is empty: a folder that is still a mount point would show files that are in use.
  for (const mountPoint of [folder.lower, folder.root]) {
    await rmdir(mountPoint).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
  const kept = keepsMemory ? [...keptNames, 'memory'] : keptNames;
  const rest = (await readdir(folder.path)).filter((name) => !kept.includes(name));
  await Promise.all(rest.map((name) => rm(`${folder.path}/${name}`, { recursive: true, force: true })));
};
