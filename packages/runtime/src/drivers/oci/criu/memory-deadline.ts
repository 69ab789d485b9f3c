const BASE_MS = 60_000;
const PER_MIB_MS = 50;

/** How long dumping or restoring the memory of a sandbox with this limit may take: slow disks write 20 MiB a second. */
export const toMemoryDeadlineMs = (memoryBytes: number): number =>
  BASE_MS + PER_MIB_MS * Math.ceil(memoryBytes / 2 ** 20);
