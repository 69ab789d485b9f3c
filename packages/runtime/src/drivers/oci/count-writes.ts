import { existsSync, readFileSync, statSync } from 'node:fs';

/**
 * What tells whether the file system that is mounted at `target` has changed what it lies on: as long as that stays the same, it
 * has not. Undefined where the kernel does not count, or does not show it.
 */
export const countWrites = (target: string): string | undefined => {
  const { dev } = statSync(target);
  // makedev(3)
  const numbers = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`;
  const folder = `/sys/dev/block/${numbers}`;
  if (!existsSync(`${folder}/stat`)) return undefined;
  if (readFileSync(`${folder}/queue/iostats`, 'utf8').trim() !== '1') return undefined;
  const fields = readFileSync(`${folder}/stat`, 'utf8').trim().split(/\s+/);
  // Requests and sectors that were written and that were given back: Documentation/block/stat.rst.
  const [writes, written, discards, discarded] = [fields[4], fields[6], fields[11], fields[13]];
  if (discarded === undefined) return undefined;
  return `${numbers} ${writes} ${written} ${discards} ${discarded}`;
};
