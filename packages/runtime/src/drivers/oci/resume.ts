import { randomUUID } from 'node:crypto';
import { closeSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { RuntimeError } from '../../error.ts';
import { openShift } from '../../kernel/user-namespace.ts';
import { releaseSlot, reserveSlot, toSlot } from '../../network/slots.ts';
import { mountShifted, prepareGuestDir } from './container/overlay.ts';
import type { Checkpoint } from './criu/checkpoint.ts';
import { removeSockets } from './criu/dump.ts';
import { verifyDisk } from './disk/kept-disk.ts';
import { type SandboxFolder, toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import { requireLevel, toRecordLevel } from './isolation.ts';
import { keepRecord, type SandboxRecord } from './record.ts';

/**
 * The first half of a resume: a slot is reserved, and a record on the medium says `resuming`, so that the disk may be
 * changed. Nothing has changed when it rejects: with `internal` when the paused sandbox is not whole, `exhausted` when
 * all slots are taken, `unsupported` when it was made at a level that this host does not run.
 */
export const beginResume = async (
  host: OciHost,
  record: SandboxRecord,
  { memory }: { memory: Checkpoint | undefined },
): Promise<SandboxRecord> => {
  const { dataDir, stateDir } = host;
  const { id, rootfs } = record.spec;
  const folder = toSandboxFolder(dataDir, id);
  requireLevel(host, record, `sandbox ${id}`);
  await Promise.all([verifyDisk(host.disks, folder.image, record.kept), verifyImage(rootfs)]);
  // That of its disk: its owners need not be shifted there.
  const preferred = host.shiftsImages ? toSlot(record.diskBaseId) : undefined;
  const slot = await reserveSlot({ dataDir, id, stateDir, preferred });
  try {
    const { kept: _disk, memory: _memory, level: _level, ...rest } = record;
    const resuming: SandboxRecord = {
      ...rest,
      phase: 'resuming',
      runId: randomUUID(),
      ...toRecordLevel(host),
      slot,
      ...(memory && { memory }),
    };
    await keepRecord(folder.record, resuming);
    return resuming;
  } catch (error) {
    await releaseSlot({ dataDir, id, stateDir, slot });
    throw error;
  }
};

const verifyImage = async (rootfs: string): Promise<void> => {
  const isThere = await stat(rootfs).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isThere) throw new RuntimeError('internal', `the image ${rootfs} that a paused sandbox needs is gone`);
};

/** Mounts the disk of a paused sandbox for its next run. Its owners are those of the slot that run has. */
export const reopenDisk = async (host: OciHost, record: SandboxRecord): Promise<void> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  const baseId = host.toBaseId(record.slot);
  await host.disks.open({ image: folder.image, target: folder.disk });
  if (baseId !== record.diskBaseId) await shift(folder, { fromId: record.diskBaseId, toId: baseId });
  // The sockets of the last run: one that is there would mean that the agent is ready.
  if (record.memory) {
    await removeSockets(folder);
  } else {
    await rm(folder.guest, { recursive: true, force: true });
    prepareGuestDir({ disk: folder.disk, baseId });
  }
};

/** On top of the unshifted view, which nobody sees from here on. */
const shift = async (folder: SandboxFolder, ids: { fromId: number; toId: number }): Promise<void> => {
  const userNamespace = await openShift(ids);
  try {
    mountShifted({ source: folder.disk, target: folder.disk, userNamespace });
  } finally {
    closeSync(userNamespace);
  }
};
