import { type BigIntStats, lstatSync, realpathSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { type EntryInfo, EntryInfoSchema, FileType } from '@skerry/envd-client/filesystem';
import { readMetadata } from '../http/files/metadata.ts';
import type { AccountNames } from '../system/users.ts';
import { toPermissions } from './permissions.ts';

const toType = (stats: BigIntStats): FileType => {
  if (stats.isFile()) return FileType.FILE;
  return stats.isDirectory() ? FileType.DIRECTORY : FileType.UNSPECIFIED;
};

const followLink = (
  path: string,
  at: string | Buffer,
): { target: string; stats: BigIntStats | undefined } => {
  try {
    return { target: realpathSync.native(at), stats: statSync(at, { bigint: true }) };
  } catch {
    // A dangling or circular link: the protocol reports its own path as the target.
    return { target: path, stats: undefined };
  }
};

const toModeBits = (stats: BigIntStats): number => Number(stats.mode & 0o777n);

const toTimestamp = (ns: bigint) => {
  const nanos = Number(((ns % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n);
  return create(TimestampSchema, { seconds: (ns - BigInt(nanos)) / 1_000_000_000n, nanos });
};

/**
 * Describes what is at an absolute path, without following a final link: of a link, `type` and `mode` are those of its
 * target. `at` has the bytes of a path that is not UTF-8. Throws the errno of lstat(2).
 */
export const readEntryInfo = (path: string, names: AccountNames, at: string | Buffer = path): EntryInfo => {
  const stats = lstatSync(at, { bigint: true });
  const entry = create(EntryInfoSchema);
  entry.name = basename(path);
  entry.path = path;
  entry.size = stats.size;
  entry.permissions = toPermissions(Number(stats.mode));
  entry.owner = names.userName(Number(stats.uid));
  entry.group = names.groupName(Number(stats.gid));
  entry.modifiedTime = toTimestamp(stats.mtimeNs);
  entry.metadata = typeof at === 'string' ? { ...readMetadata(at) } : {};
  if (!stats.isSymbolicLink()) {
    entry.type = toType(stats);
    entry.mode = toModeBits(stats);
    return entry;
  }
  const link = followLink(path, at);
  entry.symlinkTarget = link.target;
  if (link.stats !== undefined) {
    entry.type = toType(link.stats);
    entry.mode = toModeBits(link.stats);
  }
  return entry;
};
