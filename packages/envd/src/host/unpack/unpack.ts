import { statSync } from 'node:fs';
import { Duplex, Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { UnpackRequest } from '@skerry/contract/agent-control';
import { ApiError, invalid } from '@skerry/contract/error';
import { toPaxSparse } from '@skerry/contract/to-pax-sparse';
import { extract } from 'tar-stream';
import { isErrno } from '../../system/errno.ts';
import type { Users } from '../../system/users.ts';
import { type ArchiveEntry, parseEntry } from './archive-entry.ts';
import { RefusedEntryError, toEntryError } from './entry-error.ts';
import { type FolderTree, openRoot } from './folder-tree.ts';
import { parseMode } from './mode.ts';
import { parseOwner } from './owner.ts';

/**
 * Unpacks a tar archive, plain or gzip, as its bytes arrive. Rejects with `invalid_argument` for an archive that is
 * incomplete, or has an entry that is refused, with `insufficient_storage` when the disk is full, and with
 * `unauthenticated` for an unknown owner; what was written until then stays. The rest of the body is not read then.
 */
export const unpackArchive = async (
  body: AsyncIterable<Uint8Array>,
  request: UnpackRequest,
  { users }: { users: Users },
): Promise<void> => {
  using writer = createWriter(request, users);
  const parser = extract();
  const reading = (async () => {
    for await (const content of parser) {
      try {
        // A streamx stream, which its types do not declare as iterable.
        await writer.add(parseEntry(content.header), content as unknown as AsyncIterable<Uint8Array>);
      } catch (error) {
        throw toEntryError(content.header.name, error);
      }
      content.resume();
    }
  })();
  const feeding = pipeline([...(await decode(body)), Duplex.from(toPaxSparse), parser]);
  const failures = (await Promise.allSettled([reading, feeding]))
    .filter((result) => result.status === 'rejected')
    .map((result): unknown => result.reason);
  // The first to fail destroys the other, whose error only echoes it.
  const cause = failures.find((error) => error instanceof ApiError) ?? failures[0];
  if (cause instanceof ApiError) throw cause;
  if (cause instanceof Error && !isErrno(cause))
    throw invalid(`the archive is incomplete or damaged: ${cause.message}`, { cause });
  if (cause !== undefined) throw cause;
  writer.finish();
};

/** The bytes of a body, and what decodes them, by how they begin. */
const decode = async (body: AsyncIterable<Uint8Array>): Promise<[Readable, ...Transform[]]> => {
  const pieces = body[Symbol.asyncIterator]();
  const first = await pieces.next();
  const isGzip = !first.done && first.value[0] === 0x1f && (first.value[1] ?? 0x8b) === 0x8b;
  const readAll = async function* (): AsyncGenerator<Uint8Array> {
    for (let next = first; !next.done; next = await pieces.next()) yield next.value;
  };
  return [Readable.from(readAll(), { objectMode: false }), ...(isGzip ? [createGunzip()] : [])];
};

interface Writer extends Disposable {
  add(entry: ArchiveEntry, content: AsyncIterable<Uint8Array>): Promise<void>;
  /** Throws when there was nothing to write. */
  finish(): void;
}

const createWriter = (request: UnpackRequest, users: Users): Writer => {
  const { destination, intoFolder, mode, keepsOwners, overwritesFolders: overwrites } = request;
  if (!destination.startsWith('/') || destination.includes('\0'))
    throw invalid('the destination must be absolute');
  const changeMode = mode === undefined ? undefined : parseMode(mode);
  const source = request.source.split('/').filter(Boolean);
  const [ownName = ''] = source.slice(-1);
  const target = destination.split('/').filter((part) => part !== '' && part !== '.');
  const root = openRoot(parseOwner(request.owner, users));
  let folder: FolderTree | undefined;
  let isEmpty = true;

  const isFolder = (): boolean =>
    intoFolder ||
    target.length === 0 ||
    statSync(destination, { throwIfNoEntry: false })?.isDirectory() === true;

  /** The name of an entry below the destination. Undefined for a folder that is above. */
  const toPlace = ({ path, content }: ArchiveEntry): readonly string[] | undefined => {
    const isInside = source.every((part, index) => path[index] === part);
    if (isInside && (path.length > source.length || content.kind === 'folder'))
      return path.slice(source.length);
    if (isInside) return [ownName];
    const isAbove = content.kind === 'folder' && path.every((part, index) => source[index] === part);
    if (isAbove) return undefined;
    throw new RefusedEntryError(`is not in ${JSON.stringify(request.source)}, the source of the step`);
  };

  const toOther = (path: readonly string[]): readonly string[] => {
    if (source.every((part, index) => path[index] === part)) return path.slice(source.length);
    throw new RefusedEntryError('is a link to a file that is not in the source of the step');
  };

  return {
    add: async (entry, content) => {
      const { path, modifiedAtSeconds } = entry;
      const kept = keepsOwners ? { owner: entry.owner, attributes: entry.attributes } : {};
      const isFolderEntry = entry.content.kind === 'folder';
      const metadata = { mode: changeMode?.(entry.mode, isFolderEntry) ?? entry.mode, ...kept };
      const place = toPlace(entry);
      if (place === undefined) return;
      isEmpty = false;
      const isAlone = path.length === source.length && entry.content.kind !== 'folder' && !isFolder();
      using parent = isAlone ? asDisposable(root.open(target.slice(0, -1))) : undefined;
      if (parent === undefined) folder ??= root.open(target);
      const tree = parent ?? (folder as FolderTree);
      const name = isAlone ? target.slice(-1) : place;
      switch (entry.content.kind) {
        case 'folder':
          // Container tools make the destination without the mode of what they copy into it.
          if (overwrites && name.length === 0) return;
          return tree.makeFolder(name, { ...metadata, overwrite: overwrites });
        case 'file':
          return await tree.writeFile(
            name,
            { ...metadata, modifiedAtSeconds, sparse: entry.content.sparse },
            content,
          );
        case 'symlink':
          return tree.makeSymlink(name, {
            target: entry.content.target,
            modifiedAtSeconds,
            owner: kept.owner,
          });
        case 'link':
          return tree.makeLink(name, { to: toOther(entry.content.to) });
      }
    },
    finish: () => {
      if (isEmpty)
        throw invalid(`the archive has nothing in ${JSON.stringify(request.source)}, the source of the step`);
    },
    [Symbol.dispose]: () => {
      folder?.close();
      root.close();
    },
  };
};

const asDisposable = (tree: FolderTree): FolderTree & Disposable => ({
  ...tree,
  [Symbol.dispose]: () => tree.close(),
});
