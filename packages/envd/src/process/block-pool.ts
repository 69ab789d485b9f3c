/** Bytes of a block. */
export const BLOCK_BYTES = 64 * 1024;
/** What is kept for later; the rest is left to the garbage collector. */
const MAX_FREE = 32;

const free: Uint8Array[] = [];

/**
 * A block with anything in it. Blocks are used again because the collector finds those that have lived for a while only when dozens of
 * megabytes have gathered, and the C library gives little of that back to the kernel.
 */
export const takeBlock = (): Uint8Array => free.pop() ?? new Uint8Array(BLOCK_BYTES);

/** Nobody may hold a view of the block any more. */
export const giveBlock = (block: Uint8Array): void => {
  if (free.length < MAX_FREE) free.push(block);
};
