import { flushDisk } from './close-disk.ts';
import { copyDisk } from './copy-disk.ts';
import { countWrites } from './count-writes.ts';

/**
 * Returns a function that copies `image`, mounted at `disk`, to another file, with everything that was written there
 * before the call. Later calls copy over it, one after the other, and only when something was written since. Data
 * written during a call may be in the copy in part, until the next call. Calls reject as `flushDisk` and `copyDisk`.
 */
export const createRepeatedCopy = (options: {
  disk: string;
  image: string;
  to: string;
}): (() => Promise<void>) => {
  const { disk, image, to } = options;
  let copied: string | undefined;
  const copy = async (): Promise<void> => {
    await flushDisk(disk);
    const writes = countWrites(disk);
    if (writes !== undefined && writes === copied) return;
    copied = undefined;
    await copyDisk(image, to);
    copied = writes;
  };
  let last: Promise<void> = Promise.resolve();
  return () => {
    // The earlier caller receives this failure.
    last = last.then(copy, copy);
    return last;
  };
};
