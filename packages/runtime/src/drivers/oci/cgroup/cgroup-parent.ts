import { createHash } from 'node:crypto';

/** The name of the folder in each tree that contains the cgroups of a data folder's sandboxes, and no others. */
export const toCgroupParent = (dataDir: string): string =>
  `skerry-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`;
