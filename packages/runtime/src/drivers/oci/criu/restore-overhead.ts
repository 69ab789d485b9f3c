import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { RuntimeError } from '../../../error.ts';
import type { Limits } from '../../../runtime.ts';
import type { CgroupLayout } from '../cgroup/cgroup.ts';
import { type GroupLimits, toMemorySettings } from '../cgroup/make-cgroup.ts';
import { limitRestoredSockets } from '../cgroup/socket-memory.ts';

const MIB = 2 ** 20;

/** The memory of CRIU itself. */
const OVERHEAD_BYTES = 32 * MIB;
const OVERHEAD_PROCESSES = 32;
/**
 * The memory for the copy of CRIU in each process before that is restored, and for a session leader that has
 * ended.
 */
const OVERHEAD_BYTES_EACH = MIB;

/**
 * The limits of a sandbox while CRIU restores its processes in its cgroups, where CRIU itself is counted, too. Bounded,
 * as memory that processes shared may become memory of each. `processCount` is the number of restored processes,
 * threads among them.
 */
export const addRestoreOverhead = (
  limits: Limits,
  { processCount }: { processCount: number },
): GroupLimits => {
  const memoryBytes = limits.memoryBytes + OVERHEAD_BYTES + OVERHEAD_BYTES_EACH * processCount;
  return {
    ...limits,
    memoryBytes,
    processCount: limits.processCount + OVERHEAD_PROCESSES + processCount,
    // Unread data can take more memory in sockets that are made again. Beyond the limit of the sandbox the
    // kernel would drop packets among them, and TCP would repeat these only after seconds.
    socketBytes: memoryBytes,
  };
};

/** The kernel may need a little more memory for the same processes than before. */
export const toSlackBytes = ({ memoryBytes }: Limits): number => Math.floor(memoryBytes / 32);

/**
 * Removes what `addRestoreOverhead` added in the cgroups at the path, whose processes are frozen: the kernel reclaims
 * as much of their memory as the limit demands. Where it cannot reclaim enough, the limit is higher by the slack. The limit
 * of the buffers of sockets, which cannot be reclaimed, is what they take, where that is more.
 * Rejects with `internal`, without a kill, when that is not enough either.
 */
export const removeRestoreOverhead = async (
  layout: CgroupLayout,
  path: string,
  limits: Limits,
): Promise<void> => {
  const [memory, pids] = ['memory', 'pids'].map((controller) => findFolder(layout, path, controller));
  const isLowered = async (to: Limits): Promise<boolean> => {
    if (memory === undefined) return true;
    return layout.version === 2 ? lowerUnified(memory, to) : lowerMemory(memory, layout, to);
  };
  const higher = { ...limits, memoryBytes: limits.memoryBytes + toSlackBytes(limits) };
  if (!(await isLowered(limits)) && !(await isLowered(higher))) throw toMemoryLimitError();
  if (pids !== undefined) await writeFile(`${pids}/pids.max`, String(limits.processCount));
  if (memory !== undefined && layout.version === 1) limitRestoredSockets(memory, limits);
};

/** Whether a process in the cgroups was killed because all of them together had reached the limit. */
export const hasOomKill = async (layout: CgroupLayout, path: string): Promise<boolean> => {
  const file = layout.version === 2 ? 'memory.events' : 'memory.oom_control';
  // The file is missing where making the cgroups has failed.
  const text = await readFile(`${findFolder(layout, path, 'memory')}/${file}`, 'utf8').catch(() => '');
  return /^oom_kill [1-9]/m.test(text);
};

/** The error of a restore that needs more memory than the limit. A retry cannot help. */
export const toMemoryLimitError = (cause?: unknown): RuntimeError =>
  new RuntimeError('internal', `its processes need more memory than the sandbox's limit`, { cause });

/** Undefined where the host lacks the controller: it limits nothing then. */
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

/**
 * Lowers the memory limit in cgroup version 2. Reclaims through `memory.high` first, because the kernel kills
 * when it cannot reclaim down to a new `memory.max`: Documentation/admin-guide/cgroup-v2.rst. False when too
 * much is left.
 */
const lowerUnified = async (folder: string, { memoryBytes }: Limits): Promise<boolean> => {
  await writeFile(`${folder}/memory.high`, String(memoryBytes));
  if (Number(await readFile(`${folder}/memory.current`, 'utf8')) > memoryBytes) return false;
  await writeFile(`${folder}/memory.max`, String(memoryBytes));
  await writeFile(`${folder}/memory.high`, 'max');
  return true;
};
