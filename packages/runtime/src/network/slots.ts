import { readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { RuntimeError } from '../error.ts';
import { type IdRange, overlapsAny } from './foreign-ids.ts';

const FIRST_UID = 100_000;
const UID_COUNT = 65_536;

/** The state that all skerry servers of one host share: slots, and changes of the host's network. */
export const defaultStateDir = '/run/skerry';

/** Slots are 0 to 16383: four addresses each fill a /16, and 65,536 ids each stay below 2^31. */
export const slotCount = 16_384;

export interface SlotOwner {
  /** Absolute path of the data folder that the sandbox belongs to. */
  dataDir: string;
  id: string;
  /** Another folder than `/run/skerry`, for a network namespace other than the host's. */
  stateDir?: string | undefined;
}

export interface ReservedSlot {
  slot: number;
  dataDir: string;
  id: string;
}

/** First host id of the 65,536 that root and the users inside are mapped to. */
export const toBaseUid = (slot: number): number => FIRST_UID + checkSlot(slot) * UID_COUNT;

/** The inverse of `toBaseUid`. */
export const toSlot = (baseUid: number): number => checkSlot((baseUid - FIRST_UID) / UID_COUNT);

/**
 * The two ends of the sandbox's link, from 10.201.0.0/16: the host has the first of the slot's four addresses, the
 * sandbox the second.
 */
export function toSlotAddresses(slot: number): { host: string; guest: string } {
  const first = checkSlot(slot) * 4 + 1;
  const toAddress = (offset: number): string => `10.201.${offset >> 8}.${offset & 255}`;
  return { host: toAddress(first), guest: toAddress(first + 1) };
}

/** The range that `toSlotAddresses` takes from. */
export const slotNetwork = '10.201.0.0/16';

/**
 * The first slot whose ids are all above those that `useradd` gives to new users by itself: SUB_UID_MAX of
 * login.defs(5).
 */
const firstApart = Math.ceil((600_100_001 - FIRST_UID) / UID_COUNT);

/**
 * Reserves a free slot for a sandbox, the preferred one if it is free, none whose ids overlap with `foreignIds`. No
 * other server of this host gets it until `releaseSlot`. Rejects with `exhausted` when all are reserved.
 */
export async function reserveSlot({
  preferred,
  foreignIds = [],
  ...owner
}: SlotOwner & {
  preferred?: number | undefined;
  foreignIds?: readonly IdRange[] | undefined;
}): Promise<number> {
  const dir = slotsDir(owner.stateDir);
  const takeOwn = async (slot: number): Promise<boolean> =>
    !overlapsAny({ first: toBaseUid(slot), count: UID_COUNT }, foreignIds) && (await take(dir, slot, owner));
  if (preferred !== undefined && (await takeOwn(preferred))) return preferred;
  // Choose at random: addresses and ids are not reused at once, and servers that start together do not
  // collide.
  for (let attempt = 0; attempt < 8; attempt++) {
    const slot = firstApart + Math.floor(Math.random() * (slotCount - firstApart));
    if (await takeOwn(slot)) return slot;
  }
  const taken = new Set(await ignoreMissing(() => readdir(dir)));
  for (let slot = slotCount - 1; slot >= 0; slot--) {
    if (!taken.has(String(slot)) && (await takeOwn(slot))) return slot;
  }
  throw new RuntimeError(
    'exhausted',
    `all ${slotCount} slots of this host are reserved, or their ids are listed in /etc/subuid or /etc/subgid`,
  );
}

/**
 * Releases a slot; does nothing when it is free or belongs to another owner. Call it after everything that used the
 * slot is gone, and not twice at the same time for one sandbox.
 */
export async function releaseSlot(options: SlotOwner & { slot: number }): Promise<void> {
  if (await ownsSlot(options)) await ignoreMissing(() => unlinkSync(toPath(options)));
}

/** Whether the slot is reserved for this sandbox. */
export const ownsSlot = async (options: SlotOwner & { slot: number }): Promise<boolean> =>
  (await readTarget(toPath(options))) === toTarget(options);

/** The reserved slots of one data folder, or of the whole host. */
export async function listSlots(options: {
  dataDir?: string | undefined;
  stateDir?: string | undefined;
}): Promise<ReservedSlot[]> {
  const dir = slotsDir(options.stateDir);
  const names = (await ignoreMissing(() => readdir(dir))) ?? [];
  const reserved: ReservedSlot[] = [];
  for (const name of names) {
    const target = await readTarget(join(dir, name));
    const space = target?.indexOf(' ') ?? -1;
    if (target === undefined || space === -1) continue;
    const slot = { slot: Number(name), id: target.slice(0, space), dataDir: target.slice(space + 1) };
    if (options.dataDir === undefined || slot.dataDir === options.dataDir) reserved.push(slot);
  }
  return reserved;
}

/**
 * Releases the slots of data folders that were deleted while they had sandboxes: no server will do so later. `isInUse`
 * reports whether something on the host still uses a slot.
 */
export async function releaseAbandonedSlots(options: {
  stateDir?: string | undefined;
  isInUse: (slot: number) => boolean;
}): Promise<void> {
  const { stateDir, isInUse } = options;
  for (const { slot, id, dataDir } of await listSlots({ stateDir })) {
    const isAbandoned = !(await exists(dataDir)) && !isInUse(slot);
    if (isAbandoned) await releaseSlot({ slot, id, dataDir, stateDir });
  }
}

const exists = async (path: string): Promise<boolean> =>
  (await ignoreMissing(() => stat(path))) !== undefined;

const slotsDir = (stateDir = defaultStateDir): string => join(stateDir, 'slots');

const toPath = (options: { slot: number; stateDir?: string | undefined }): string =>
  join(slotsDir(options.stateDir), String(checkSlot(options.slot)));

// A symbolic link without a target: the kernel creates its name and its content in one step, so no reader and no crash
// ever sees a slot without an owner.
const toTarget = (owner: SlotOwner): string => `${owner.id} ${owner.dataDir}`;

async function take(dir: string, slot: number, owner: SlotOwner): Promise<boolean> {
  for (;;) {
    try {
      symlinkSync(toTarget(owner), join(dir, String(slot)));
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') return false;
      if (code !== 'ENOENT')
        throw new RuntimeError('internal', 'a slot could not be reserved', { cause: error });
      // This is the first slot of this host, or another server just removed the folder with its last one.
      await mkdir(dir, { recursive: true, mode: 0o700 });
    }
  }
}

const readTarget = (path: string): Promise<string | undefined> => ignoreMissing(() => readlinkSync(path));

async function ignoreMissing<T>(act: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function checkSlot(slot: number): number {
  if (!Number.isInteger(slot) || slot < 0 || slot >= slotCount) {
    throw new RuntimeError('internal', `a slot is 0 to ${slotCount - 1}, got ${slot}`);
  }
  return slot;
}
