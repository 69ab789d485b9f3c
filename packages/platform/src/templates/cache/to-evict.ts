/** What decides which results go first. */
export interface Evictable {
  key: string;
  lastUsedAt: number;
  sizeBytes: number;
}

/**
 * The keys of results that have to go: those that were not used since `usedSince`, and those used longest ago beyond
 * `maxBytes` or `maxCount` in all. `entries` begin with the one that was used last.
 */
export const toEvict = (
  entries: readonly Evictable[],
  { maxBytes, maxCount, usedSince }: { maxBytes: number; maxCount: number; usedSince: number },
): string[] => {
  let keptBytes = 0;
  let isFull = false;
  return entries.flatMap(({ key, lastUsedAt, sizeBytes }, index) => {
    keptBytes += sizeBytes;
    // What follows was made on what is left out, or was used before that.
    isFull ||= lastUsedAt < usedSince || keptBytes > maxBytes || index >= maxCount;
    return isFull ? [key] : [];
  });
};
