import { parseSparse, type SparseFile, sparseName } from '@skerry/contract/sparse-file';
import type { Header } from 'tar-stream';
import { type Attributes, parseAttributes } from './entry-attributes.ts';
import { RefusedEntryError } from './entry-error.ts';
import { MAX_ID, type Owner } from './owner.ts';

/** One entry of an archive. Its path is relative, without `.` and `..`, and may still pass through links. */
export interface ArchiveEntry {
  path: readonly string[];
  mode: number;
  owner: Owner;
  attributes: Attributes;
  modifiedAtSeconds: number;
  content:
    | { kind: 'file'; sparse: SparseFile | undefined }
    | { kind: 'folder' }
    | { kind: 'symlink'; target: string }
    | { kind: 'link'; to: string[] };
}

/** What a parser, or Node, has in place of bytes that are not UTF-8. What has this character itself is refused too. */
const REPLACEMENT = '\ufffd';

/** Whether a name or a target is as it was. */
export const isText = (text: string): boolean => !text.includes(REPLACEMENT);

/**
 * Throws `RefusedEntryError` for an absolute path, one with `..` or not in UTF-8, and for what is no file, folder or link, and
 * `SparseFormError` for a sparse file that cannot be read.
 */
export const parseEntry = (header: Header): ArchiveEntry => {
  const pax = (header.pax ?? {}) as Record<string, string>;
  const name = sparseName(pax) ?? header.name;
  const sparse = parseSparse(pax, name);
  const path = parsePath(name);
  if (path.length === 0 && header.type !== 'directory') throw new RefusedEntryError('has no name');
  return {
    path,
    mode: header.mode & 0o7777,
    owner: { uid: parseId(pax.uid ?? header.uid), gid: parseId(pax.gid ?? header.gid) },
    attributes: parseAttributes(pax),
    modifiedAtSeconds: header.mtime.getTime() / 1000,
    content: parseContent(header, sparse),
  };
};

const parseContent = (
  { type, linkname }: Header,
  sparse: SparseFile | undefined,
): ArchiveEntry['content'] => {
  switch (type) {
    case 'file':
    case 'contiguous-file':
      return { kind: 'file', sparse };
    case 'directory':
      return { kind: 'folder' };
    case 'symlink':
      if (!linkname || linkname.includes('\0')) throw new RefusedEntryError('links to nothing');
      if (!isText(linkname)) throw new RefusedEntryError('has a target that is not UTF-8');
      return { kind: 'symlink', target: linkname };
    case 'link':
      return { kind: 'link', to: parsePath(linkname ?? '') };
    default:
      throw new RefusedEntryError(`is a ${type ?? 'thing'}, not a file, folder or link`);
  }
};

const parseId = (value: string | number | undefined): number => {
  const id = Number(value ?? 0);
  if (Number.isInteger(id) && id >= 0 && id <= MAX_ID) return id;
  throw new RefusedEntryError('has an owner out of range');
};

const parsePath = (path: string): string[] => {
  if (path.startsWith('/')) throw new RefusedEntryError('has an absolute path');
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw new RefusedEntryError('leaves the archive by ".."');
  if (path.includes('\0')) throw new RefusedEntryError('has a name with NUL');
  if (!isText(path)) throw new RefusedEntryError('has a name that is not UTF-8');
  return parts;
};
