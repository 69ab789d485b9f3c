import { existsSync, readFileSync, statSync } from 'node:fs';

/**
 * Returns a value that is unchanged as long as the file system mounted at `target` has not changed its device.
 * Undefined where the kernel does not count writes, or does not show them.
 */
export const countWrites = (target: string): string | undefined => {
  const { dev } = statSync(target);
  // makedev(3)
  const numbers = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`;
  const folder = `/sys/dev/block/${numbers}`;
  if (!existsSync(`${folder}/stat`)) return undefined;
  if (readFileSync(`${folder}/queue/iostats`, 'utf8').trim() !== '1') return undefined;
  const fields = readFileSync(`${folder}/stat`, 'utf8').trim().split(/\s+/);
  // Written and discarded sectors: Documentation/block/stat.rst. Not the requests: the kernel counts them after it has
  // notified the waiting process, and the sectors before, block/blk-mq.c.
  const [written, discarded] = [fields[6], fields[13]];
  if (discarded === undefined) return undefined;
  return `${numbers} ${written} ${discarded}`;
};
