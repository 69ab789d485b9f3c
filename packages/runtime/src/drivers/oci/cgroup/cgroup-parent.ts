import { createHash } from 'node:crypto';

/** The name of the folder that the cgroups of a data folder's sandboxes, and of no others, share in each tree. */
export const toCgroupParent = (dataDir: string): string =>
  `skerry-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`;
