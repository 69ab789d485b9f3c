/** How many connections a server takes, by what their requests have shown. */
export interface ConnectionBounds {
  /** The number for all callers. */
  all: number;
  /** The number of connections without a key: the others are reserved for callers with one. */
  keyless: number;
  keylessOfAddress: number;
  /** The number of those whose requests have neither carried a key nor named a sandbox that runs. */
  unknown: number;
  unknownOfAddress: number;
}

/** More would take more memory than a server has to spare. */
const most = 20_000;

/** Follows from the number of files that a process may have open: each connection may take a second one, to a sandbox. */
export const toConnectionBounds = (descriptorLimit: number): ConnectionBounds => {
  // Files need descriptors too, and what the server itself opens to helper and sandboxes.
  const kept = Math.min(1024, Math.floor(descriptorLimit / 4));
  const all = Math.min(most, Math.floor((descriptorLimit - kept) / 2));
  return {
    all,
    keyless: Math.floor((all * 3) / 4),
    keylessOfAddress: Math.floor(all / 2),
    unknown: Math.floor(all / 4),
    unknownOfAddress: Math.max(4, Math.floor(all / 16)),
  };
};
