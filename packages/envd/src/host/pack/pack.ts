import { createReadStream, lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { posix } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { pipeline as pipe } from 'node:stream/promises';
import { invalid } from '@skerry/contract/error';
import { type Header, type Pack, pack } from 'tar-stream';
import { getAttributeBytes, isWithoutAttributes, listAttributes } from '../../system/xattr.ts';
import { isText } from '../unpack/archive-entry.ts';
import { toAttributeRecord } from '../unpack/entry-attributes.ts';
import { type FoundSources, mounted } from './find-sources.ts';

/**
 * The found files as a plain tar archive that is made while it is read: with owners, modes, hard links and the extended
 * attributes of the namespace `user`, without what the host mounts. Throws `invalid_argument` for what is neither file,
 * folder nor link, and for names and targets that are not UTF-8. The files must not change meanwhile. Destroy it if you do not read it to its end.
 */
export const packFiles = ({ sources }: Pick<FoundSources, 'sources'>): Readable => {
  // Before the first byte, so that the answer can still be an error.
  for (const source of sources) for (const { path, stats } of walk(source)) requireKind(path, stats);
  const archive = pack();
  addAll(archive, sources).catch((error: Error) => archive.destroy(error));
  return archive as unknown as Readable;
};

interface Found {
  path: string;
  name: string;
  stats: Stats;
}

/** An entry and all below it, each before those in it. */
function* walk({ path, name }: { path: string; name: string }): Generator<Found> {
  const stats = lstatSync(path);
  yield { path, name, stats };
  if (!stats.isDirectory()) return;
  for (const child of readdirSync(path).toSorted()) {
    if (!isText(child))
      throw invalid(`${JSON.stringify(posix.join(path, child))} has a name that is not UTF-8`);
    const below = posix.join(path, child);
    if (!mounted.includes(below)) yield* walk({ path: below, name: posix.join(name, child) });
  }
}

const requireKind = (path: string, stats: Stats): void => {
  if (!stats.isFile() && !stats.isDirectory() && !stats.isSymbolicLink())
    throw invalid(`${JSON.stringify(path)} is neither a file nor a folder nor a link`);
  if (stats.isSymbolicLink() && !isText(readlinkSync(path)))
    throw invalid(`${JSON.stringify(path)} has a target that is not UTF-8`);
};

const addAll = async (archive: Pack, sources: FoundSources['sources']): Promise<void> => {
  for (const source of sources) {
    /** The name under which a file with several was packed first. Sources share none, as in container tools. */
    const names = new Map<string, string>();
    for (const found of walk(source)) await addEntry(archive, found, names);
  }
  archive.finalize();
};

const addEntry = async (
  archive: Pack,
  { path, name, stats }: Found,
  names: Map<string, string>,
): Promise<void> => {
  const header = { ...toHeader(path, stats), name };
  const key = `${stats.dev}:${stats.ino}`;
  if (stats.isDirectory()) archive.entry({ ...header, name: `${name || '.'}/`, type: 'directory' });
  else if (stats.isSymbolicLink())
    archive.entry({ ...header, type: 'symlink', linkname: readlinkSync(path) });
  else if (names.has(key)) archive.entry({ ...header, type: 'link', linkname: names.get(key) as string });
  else {
    if (stats.nlink > 1) names.set(key, name);
    const sink = archive.entry({ ...header, type: 'file', size: stats.size });
    await pipe(createReadStream(path), sink);
  }
};

const toHeader = (path: string, stats: Stats): Partial<Header> => {
  const { uid, gid, mtime } = stats;
  const attributes = stats.isSymbolicLink() ? [] : readAttributes(path);
  return {
    mode: stats.mode & 0o7777,
    mtime,
    uid,
    gid,
    // The field of the header has 6 octal digits.
    pax: { uid: String(uid), gid: String(gid), ...toAttributeRecord(attributes) },
  };
};

const readAttributes = (path: string): [string, Buffer][] =>
  listNames(path)
    .filter((name) => name.startsWith('user.'))
    .flatMap((name) => {
      const value = getAttributeBytes(path, name);
      return value === undefined ? [] : [[name, value] as [string, Buffer]];
    });

const listNames = (path: string): string[] => {
  try {
    return listAttributes(path);
  } catch (error) {
    if (isWithoutAttributes(error)) return [];
    throw error;
  }
};

/** Sends an archive as a body. Rejects with what interrupts it. */
export const sendPacked = (archive: Readable, target: NodeJS.WritableStream): Promise<void> =>
  new Promise((resolve, reject) => {
    pipeline(archive, target, (error) => (error ? reject(error) : resolve()));
  });
