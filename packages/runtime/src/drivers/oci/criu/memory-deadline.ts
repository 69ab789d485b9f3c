const BASE_MS = 60_000;
const PER_MIB_MS = 50;

/** How long writing the memory of a sandbox with this limit may take, or making it again: slow disks do 20 MiB a second. */
export const toMemoryDeadlineMs = (memoryBytes: number): number =>
  BASE_MS + PER_MIB_MS * Math.ceil(memoryBytes / 2 ** 20);
