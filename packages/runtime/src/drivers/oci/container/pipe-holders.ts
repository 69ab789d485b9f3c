import { readdirSync, readlinkSync, realpathSync } from 'node:fs';

/**
 * The processes, without this one, that have one of these named pipes open. Call it on the thread that starts programs: until a new
 * process executes its program it has every descriptor of this one, and it is not among the processes that are listed.
 */
export const listPipeHolders = (pipes: readonly string[]): number[] => {
  const paths = new Set(pipes.flatMap((path) => ifPresent(() => realpathSync(path))));
  if (paths.size === 0) return [];
  // Synchronous: no program is started meanwhile. By name, as a file of a sandbox may not answer what it is.
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && listOpen(pid).some((path) => paths.has(path)));
};

const listOpen = (pid: number): string[] => {
  const folder = `/proc/${pid}/fd`;
  return ifPresent(() => readdirSync(folder)).flatMap((fd) =>
    ifPresent(() => readlinkSync(`${folder}/${fd}`)),
  );
};

/** Nothing for what was closed, has ended, or may not be read by this process. */
const ifPresent = <T>(read: () => T | T[]): T[] => {
  try {
    return [read()].flat() as T[];
  } catch {
    return [];
  }
};
