import { posix } from 'node:path';
import type { Writable } from 'node:stream';
import { UserError } from '@skerry/server/user-error';
import { extract, type ReadEntry, type Unpack } from 'tar';

/** Called with the path of an entry, and why it is left out. */
export type LeftOut = (path: string, reason: string) => void;

/** Enough for the longest path and link that Linux has, in a head of their own. */
const MAX_HEAD_BYTES = 64 * 1024;
/** Without set-user-id, set-group-id and sticky. */
const PERMISSIONS = 0o777;

/**
 * Makes a stream that unpacks an archive of a sandbox into an empty folder, whose own mode stays. Nothing is written outside: a link
 * that leads out is left out, and so is what is neither file, folder nor link. The stream fails for what is no archive of a folder,
 * is compressed, or names paths outside.
 */
export function unpack(folder: string, onLeftOut: LeftOut): Writable {
  const missing = new Set<string>();
  const isKept = (entry: ReadEntry): boolean => {
    const path = posix.normalize(entry.path);
    const reason = findReason(entry, missing);
    if (reason !== undefined) {
      missing.add(path);
      onLeftOut(path, reason);
      return false;
    }
    if (entry.mode !== undefined) entry.mode &= PERMISSIONS;
    const isFolderItself = path === '.' || path === './';
    if (isFolderItself && entry.type !== 'Directory') stream.abort(new UserError('the folder is not one'));
    return !isFolderItself;
  };
  // node-tar strips "/", refuses "..", and writes through no symbolic link.
  const stream: Unpack = extract({
    cwd: folder,
    preserveOwner: false,
    strict: true,
    filter: (_path, entry) => isKept(entry as ReadEntry),
    maxMetaEntrySize: MAX_HEAD_BYTES,
    // A small archive must not become a large folder: the tool in the sandbox does not compress.
    maxDecompressionRatio: 1,
  });
  return stream as unknown as Writable;
}

/** Returns the error for a user where the archive is at fault: node-tar gives such an error a code of its own. */
export const toArchiveError = (error: unknown): unknown =>
  error instanceof Error && 'tarCode' in error && !('syscall' in error)
    ? new UserError(`the archive of the sandbox is refused: ${error.message}`, { cause: error })
    : error;

function findReason(
  { type, path, linkpath = '' }: ReadEntry,
  missing: ReadonlySet<string>,
): string | undefined {
  switch (type) {
    case 'File':
    case 'OldFile':
    case 'ContiguousFile':
    case 'Directory':
      return undefined;
    case 'SymbolicLink':
      return staysInside(path, linkpath)
        ? undefined
        : `a link to ${linkpath}, which is outside of the folder`;
    case 'Link':
      return missing.has(posix.normalize(linkpath)) ? `another name of ${linkpath}` : undefined;
    default:
      return 'neither a file nor a folder';
  }
}

/**
 * Whether a link leads to a place in the folder whatever other links there are: its way up comes first, through the folders that the
 * link itself is in, which are no links.
 */
function staysInside(path: string, target: string): boolean {
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const ups = parts.lastIndexOf('..') + 1;
  const depth =
    posix
      .normalize(path)
      .split('/')
      .filter((part) => part !== '' && part !== '.').length - 1;
  return !target.startsWith('/') && parts.slice(0, ups).every((part) => part === '..') && ups <= depth;
}
