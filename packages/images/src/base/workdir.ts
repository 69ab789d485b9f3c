import { chownSync, mkdirSync } from 'node:fs';
import type { ImageConfig } from '../oci/image-config.ts';
import { containedPath } from '../oci/layer/contained-path.ts';
import { maxId } from '../oci/layer/tar-entry.ts';
import { readRootfsFile } from './rootfs-file.ts';

/** What an image says of its processes. */
export type WorkdirConfig = Pick<ImageConfig, 'user' | 'workdir'>;

/**
 * Makes the working folder that an image names and lacks, with mode 0755, and gives it to the user of the image. Missing parents
 * belong to root. A folder that exists stays as it is. Throws the error of a system call where the image has something else in its place.
 */
export function addWorkdir(root: string, { user, workdir }: WorkdirConfig): void {
  if (workdir === '') return;
  const path = containedPath(root, workdir, { followLast: true });
  if (mkdirSync(path, { recursive: true, mode: 0o755 }) === undefined) return;
  const owner = findOwner(root, user);
  if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
}

/** Undefined for a user or a group without an account in the image: no process starts as such a user. */
function findOwner(root: string, user: string): { uid: number; gid: number } | undefined {
  const [name = '', group] = user.split(':');
  if (name === '') return undefined;
  const uid = toId(name) ?? toId(findEntry(root, '/etc/passwd', name)?.[2]);
  // The folder of a WORKDIR step has the same group.
  const gid =
    group === undefined
      ? (toId(name) ?? 0)
      : (toId(group) ?? toId(findEntry(root, '/etc/group', group)?.[2]));
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

const findEntry = (root: string, file: string, name: string): string[] | undefined =>
  readRootfsFile(root, file)
    ?.split('\n')
    .map((line) => line.split(':'))
    .find(([first]) => first === name);

const toId = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,10}$/.test(text) && Number(text) <= maxId ? Number(text) : undefined;
