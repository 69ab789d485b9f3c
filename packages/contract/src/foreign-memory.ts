/** The answers to whether a host restores memory of a blob store, which another host may have written. */
export const foreignMemoryChoices = ['allow', 'refuse'] as const;
export type ForeignMemory = (typeof foreignMemoryChoices)[number];
