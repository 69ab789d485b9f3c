const PER_MIB_MS = 50;

/** How much longer than others a start may take that reads so much memory back: slow disks do 20 MiB a second. */
export const toMemoryExtraMs = (memoryMb: number): number => PER_MIB_MS * memoryMb;
