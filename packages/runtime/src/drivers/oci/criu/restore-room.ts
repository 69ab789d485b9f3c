import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { RuntimeError } from '../../../error.ts';
import type { Limits } from '../../../runtime.ts';
import type { CgroupLayout } from '../cgroup/cgroup.ts';
import { toMemorySettings } from '../cgroup/make-cgroup.ts';

const MIB = 2 ** 20;

/** CRIU itself. */
const ROOM_BYTES = 32 * MIB;
const ROOM_PROCESSES = 32;
/** The copy of CRIU that each process is until it is itself again, and one for a leader of its session that has ended. */
const ROOM_BYTES_EACH = MIB;

/**
 * What a sandbox may have while CRIU makes its processes again in its cgroups, where what CRIU needs counts, too. Bounded, as
 * memory that processes shared may become memory of each. `processCount` is how many are made, threads among them.
 */
export const addRoom = (limits: Limits, { processCount }: { processCount: number }): Limits => ({
  ...limits,
  memoryBytes: limits.memoryBytes + ROOM_BYTES + ROOM_BYTES_EACH * processCount,
  processCount: limits.processCount + ROOM_PROCESSES + processCount,
});

/** What the kernel needs for the same processes may be a little more than it was. */
export const toSlackBytes = ({ memoryBytes }: Limits): number => Math.floor(memoryBytes / 32);

/**
 * Takes back what `addRoom` added in the cgroups at the path, whose processes stand still: so much of their memory is reclaimed
 * as the limit demands. Where not so much can be, the limit is higher by the slack. Rejects with `internal`, nobody killed,
 * when that is not enough either.
 */
export const removeRoom = async (layout: CgroupLayout, path: string, limits: Limits): Promise<void> => {
  const [memory, pids] = ['memory', 'pids'].map((controller) => findFolder(layout, path, controller));
  const isLowered = async (to: Limits): Promise<boolean> => {
    if (memory === undefined) return true;
    return layout.version === 2 ? lowerUnified(memory, to) : lowerMemory(memory, layout, to);
  };
  const higher = { ...limits, memoryBytes: limits.memoryBytes + toSlackBytes(limits) };
  if (!(await isLowered(limits)) && !(await isLowered(higher))) throw tooMuch();
  if (pids !== undefined) await writeFile(`${pids}/pids.max`, String(limits.processCount));
};

/** Whether one of those in the cgroups was killed because together they had all that they may have. */
export const hasRunOut = async (layout: CgroupLayout, path: string): Promise<boolean> => {
  const file = layout.version === 2 ? 'memory.events' : 'memory.oom_control';
  // None where making the cgroups has failed.
  const text = await readFile(`${findFolder(layout, path, 'memory')}/${file}`, 'utf8').catch(() => '');
  return /^oom_kill [1-9]/m.test(text);
};

/** The error of a restore that needs more memory than the limit. A retry cannot help. */
export const tooMuch = (cause?: unknown): RuntimeError =>
  new RuntimeError('internal', 'its processes take more memory than the sandbox may have', { cause });

/** Undefined where the host has no such controller: nothing is limited by it then. */
const findFolder = (
  { version, trees }: CgroupLayout,
  path: string,
  controller: string,
): string | undefined => {
  const tree = trees.find((one) => version === 2 || basename(one) === controller);
  return tree && `${tree}${path}`;
};

const lowerMemory = async (folder: string, layout: CgroupLayout, limits: Limits): Promise<boolean> => {
  try {
    for (const [file, value] of toMemorySettings(layout, limits)) await writeFile(`${folder}/${file}`, value);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    return false;
  }
};

/** At a `memory.max` that is below what there is the kernel kills: Documentation/admin-guide/cgroup-v2.rst. */
const lowerUnified = async (folder: string, { memoryBytes }: Limits): Promise<boolean> => {
  await writeFile(`${folder}/memory.high`, String(memoryBytes));
  if (Number(await readFile(`${folder}/memory.current`, 'utf8')) > memoryBytes) return false;
  await writeFile(`${folder}/memory.max`, String(memoryBytes));
  await writeFile(`${folder}/memory.high`, 'max');
  return true;
};
