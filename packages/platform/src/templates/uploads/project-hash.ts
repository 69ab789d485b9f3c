import { createHash } from 'node:crypto';

/**
 * The hash under which the files that a project has uploaded are kept. Clients choose hashes, and a project must not find or replace the
 * files of another.
 */
export const toProjectHash = (project: string, hash: string): string =>
  createHash('sha256').update(`${project}:${hash}`).digest('hex');
