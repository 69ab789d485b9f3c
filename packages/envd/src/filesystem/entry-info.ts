import { type BigIntStats, lstatSync, realpathSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type EntryInfoSchema, FileType } from '@skerry/envd-client/filesystem';
import { readMetadata } from '../metadata.ts';
import type { AccountNames } from '../users.ts';
import { toPermissions } from './permissions.ts';

export type EntryInfoInit = MessageInitShape<typeof EntryInfoSchema>;

const toType = (stats: BigIntStats): FileType => {
  if (stats.isFile()) return FileType.FILE;
  return stats.isDirectory() ? FileType.DIRECTORY : FileType.UNSPECIFIED;
};

const followLink = (path: string): { target: string; stats: BigIntStats | undefined } => {
  try {
    const target = realpathSync.native(path);
    return { target, stats: statSync(target, { bigint: true }) };
  } catch {
    // It leads nowhere or in a circle; the protocol has a way to say that.
    return { target: path, stats: undefined };
  }
};

const toModeBits = (stats: BigIntStats): number => Number(stats.mode & 0o777n);

const toTimestamp = (ns: bigint) => {
  const nanos = Number(((ns % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n);
  return { seconds: (ns - BigInt(nanos)) / 1_000_000_000n, nanos };
};

/**
 * Describes what is at an absolute path, without following a final link: of a link, `type` and `mode` are those of its
 * target. Throws the errno of lstat(2).
 */
export const readEntryInfo = (path: string, names: AccountNames): EntryInfoInit => {
  const stats = lstatSync(path, { bigint: true });
  const link = stats.isSymbolicLink() ? followLink(path) : undefined;
  return {
    name: basename(path),
    path,
    size: stats.size,
    permissions: toPermissions(Number(stats.mode)),
    owner: names.userName(Number(stats.uid)),
    group: names.groupName(Number(stats.gid)),
    modifiedTime: toTimestamp(stats.mtimeNs),
    metadata: { ...readMetadata(path) },
    ...(link === undefined
      ? { type: toType(stats), mode: toModeBits(stats) }
      : {
          type: link.stats === undefined ? FileType.UNSPECIFIED : toType(link.stats),
          mode: link.stats === undefined ? 0 : toModeBits(link.stats),
          symlinkTarget: link.target,
        }),
  };
};
