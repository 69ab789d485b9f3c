import { randomUUID } from 'node:crypto';
import { closeSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { RuntimeError } from '../../error.ts';
import { mountShifted } from '../../kernel/shifted-mount.ts';
import { openShift } from '../../kernel/user-namespace.ts';
import { releaseSlot, reserveSlot, toSlot } from '../../network/slots.ts';
import { prepareGuestDir } from './container/overlay.ts';
import type { Checkpoint } from './criu/checkpoint.ts';
import { removeSockets } from './criu/dump.ts';
import { verifyDisk } from './disk/kept-disk.ts';
import { requireRoom } from './disk/require-room.ts';
import { type SandboxFolder, toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import { levelOf } from './levels.ts';
import { chooseLevel } from './opened-levels.ts';
import { keepRecord, type SandboxRecord } from './record.ts';

/**
 * The first half of a resume: a slot is reserved, and a record on the medium says `resuming`, so that the disk may be
 * changed. When it rejects nothing has changed: with `internal` when the paused sandbox is incomplete or was changed,
 * `exhausted` when all slots are taken or the disk of the host has only its reserve, `unsupported` when it was made at a level that this host does not run,
 * or its memory at a level below the minimum of this host.
 */
export const beginResume = async (
  host: OciHost,
  record: SandboxRecord,
  { memory }: { memory: Checkpoint | undefined },
): Promise<SandboxRecord> => {
  const { dataDir, stateDir } = host;
  const { id, rootfs } = record.spec;
  const folder = toSandboxFolder(dataDir, id);
  const own = levelOf(record);
  const level = await chooseLevel(host, [own.name], `sandbox ${id}`);
  if (memory && level.name !== own.name)
    throw new RuntimeError(
      'unsupported',
      `the memory of sandbox ${id} is of level ${own.name}, and cannot be restored at level ${level.name}`,
    );
  requireRoom(dataDir);
  await Promise.all([verifyDisk(host.disks, folder.image, record.kept), verifyImage(rootfs)]);
  // The slot of its disk: the owners need not be shifted there.
  const preferred = host.shiftsImages ? toSlot(record.diskBaseId) : undefined;
  const foreignIds = await host.readForeignIds();
  const slot = await reserveSlot({ dataDir, id, stateDir, preferred, foreignIds });
  try {
    const { kept: _disk, memory: _memory, level: _level, ...rest } = record;
    const resuming: SandboxRecord = {
      ...rest,
      phase: 'resuming',
      runId: randomUUID(),
      ...level.recorded,
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
    (found) => found.isDirectory() || found.isFile(),
    () => false,
  );
  if (!isThere)
    throw new RuntimeError(
      'internal',
      `the image ${rootfs}, which a paused sandbox needs, does not exist any more`,
    );
};

/** Mounts the disk of a paused sandbox for its next run, with the owners of that run's slot. */
export const reopenDisk = async (host: OciHost, record: SandboxRecord): Promise<void> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  const baseId = host.toBaseId(record.slot);
  await host.disks.open({ image: folder.image, target: folder.disk });
  if (baseId !== record.diskBaseId) await shift(folder, { fromId: record.diskBaseId, toId: baseId });
  // The sockets of the last run: one that remained would look as if the agent were ready.
  if (record.memory) {
    await removeSockets(folder);
  } else {
    await rm(folder.guest, { recursive: true, force: true });
    prepareGuestDir({ disk: folder.disk, baseId });
  }
};

/** Mounts the disk with shifted ids on top of the unshifted mount, which is hidden from then on. */
const shift = async (folder: SandboxFolder, ids: { fromId: number; toId: number }): Promise<void> => {
  const userNamespace = await openShift(ids);
  try {
    mountShifted({ source: folder.disk, target: folder.disk, userNamespace });
  } finally {
    closeSync(userNamespace);
  }
};
