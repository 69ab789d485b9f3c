import { flushDisk } from './close-disk.ts';
import { copyDisk } from './copy-disk.ts';
import { countWrites } from './count-writes.ts';

/**
 * Returns what copies `image`, mounted at `disk`, to another file, with all that was written there before the call. Later calls
 * copy over it, one after the other, and only when something was written since. What is written during a call may be in the copy
 * by halves, until the next. Calls reject as `flushDisk` and `copyDisk`.
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
    // Whoever called before is told of his own failure.
    last = last.then(copy, copy);
    return last;
  };
};
