import { type EntryInfo as EntryMessage, FileType } from '@skerry/envd-client/filesystem';

/** The type of a path. `other` is a device, a socket, a pipe, or a broken symbolic link. */
export type EntryType = 'file' | 'directory' | 'symlink' | 'other';

/**
 * One path in a sandbox. For a symbolic link, `type` and `mode` are those of its target, `sizeBytes` and `permissions`
 * its own.
 */
export interface EntryInfo {
  name: string;
  path: string;
  type: EntryType;
  sizeBytes: number;
  /** The nine permission bits. */
  mode: number;
  /** Like `-rw-r--r--`. */
  permissions: string;
  owner: string;
  group: string;
  modifiedAt: Date;
  /** The target of a symbolic link, fully resolved. */
  symlinkTarget?: string;
  /** The metadata that uploads attached, keys in lower case. */
  metadata: Record<string, string>;
}

const types: Record<FileType, EntryType> = {
  [FileType.UNSPECIFIED]: 'other',
  [FileType.FILE]: 'file',
  [FileType.DIRECTORY]: 'directory',
  [FileType.SYMLINK]: 'symlink',
};

/**
 * Sizes above 2^53 - 1 lose precision.
 *
 * @internal
 */
export function toEntryInfo(entry: EntryMessage): EntryInfo {
  const { seconds = 0n, nanos = 0 } = entry.modifiedTime ?? {};
  return {
    name: entry.name,
    path: entry.path,
    type: types[entry.type] ?? 'other',
    sizeBytes: Number(entry.size),
    mode: entry.mode,
    permissions: entry.permissions,
    owner: entry.owner,
    group: entry.group,
    modifiedAt: new Date(Number(seconds) * 1000 + Math.floor(nanos / 1_000_000)),
    ...(entry.symlinkTarget === undefined ? {} : { symlinkTarget: entry.symlinkTarget }),
    metadata: entry.metadata,
  };
}
