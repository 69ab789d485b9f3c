const PER_MIB_MS = 50;

/** The extra time of a start that reads so much memory back: slow disks read 20 MiB a second. */
export const toMemoryExtraMs = (memoryMb: number): number => PER_MIB_MS * memoryMb;
