/** No program has to do with fewer, whatever the host has. */
const leastOpenFiles = 4_096;

/**
 * How many files one process of a sandbox may have open, so that all its processes together take at most half of what
 * the host allows in all; and no fewer than 4,096.
 */
export const toOpenFiles = (
  { openFiles, fileMax }: { openFiles: number; fileMax: number },
  processCount: number,
): number => Math.min(openFiles, Math.max(leastOpenFiles, Math.floor(fileMax / 2 / processCount)));
