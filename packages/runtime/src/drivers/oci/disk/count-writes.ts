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
  // Sectors that were written and that were given back: Documentation/block/stat.rst. Not the requests: the kernel counts
  // them after it has woken whoever waits for one, and the sectors before, block/blk-mq.c.
  const [written, discarded] = [fields[6], fields[13]];
  if (discarded === undefined) return undefined;
  return `${numbers} ${written} ${discarded}`;
};
