import { readFileSync } from 'node:fs';

/**
 * How many inotify instances one sandbox may have, and the programs of skerry together. The host counts those of all sandboxes for
 * the user whose they are, together with those of this user's own programs: an eighth for each, and no fewer than 16.
 */
export const toInotifyShare = (ofUser: number): number => Math.max(16, Math.floor(ofUser / 8));

/** Returns the share of this host's limit. */
export const readInotifyShare = (): number =>
  toInotifyShare(Number(readFileSync('/proc/sys/fs/inotify/max_user_instances', 'utf8')));
