/** Whether there was no room, or no more than was allowed, on the disk on which a call was to make or write a file. */
export const isDiskFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException | undefined)?.code ?? '');
