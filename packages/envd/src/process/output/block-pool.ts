/** Bytes of a block. */
export const BLOCK_BYTES = 64 * 1024;
/** So many are kept for later in any case, and as many more as are in use; the rest is left to the garbage collector. */
const MIN_FREE = 32;

const free: Uint8Array[] = [];
let usedCount = 0;

/**
 * A block with anything in it. Blocks are used again because the collector finds those that have lived for a while only when dozens of
 * megabytes have gathered, and the C library gives little of that back to the kernel.
 */
export const takeBlock = (): Uint8Array => {
  usedCount += 1;
  return free.pop() ?? new Uint8Array(BLOCK_BYTES);
};

/** Returns a block to the pool. A block with a view that is still in use is not used again. */
export const giveBlock = (block: Uint8Array, { isLent }: { isLent: boolean }): void => {
  usedCount -= 1;
  if (!isLent) free.push(block);
  free.length = Math.min(free.length, MIN_FREE + usedCount);
};
