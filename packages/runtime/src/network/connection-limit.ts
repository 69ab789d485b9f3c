import { readFileSync } from 'node:fs';

const tableSize = '/proc/sys/net/netfilter/nf_conntrack_max';

/** The size of the table of a host of 4 GiB and more, taken where the size does not show. */
const usualSize = 262_144;

/**
 * Connections that the kernels' tables keep for one sandbox. The host has one such table for everything: when it is
 * full, the host itself is cut off. A hundred sandboxes together leave a fifth of it.
 */
export const toConnectionLimit = (size: number): number =>
  Math.min(8_192, Math.max(128, Math.floor(size / 128)));

/** Returns the limit for the table of this host. */
export const readConnectionLimit = (): number => {
  try {
    return toConnectionLimit(Number(readFileSync(tableSize, 'utf8')));
  } catch {
    // The module is not loaded yet, or does not show its settings in this network namespace.
    return toConnectionLimit(usualSize);
  }
};
