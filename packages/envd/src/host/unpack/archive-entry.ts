import type { Header } from 'tar-stream';
import { RefusedEntryError } from './entry-error.ts';

/** One entry of an archive. Its path is relative, without `.` and `..`, and may still pass through links. */
export interface ArchiveEntry {
  path: readonly string[];
  mode: number;
  modifiedAtSeconds: number;
  content: { kind: 'file' | 'folder' } | { kind: 'symlink'; target: string } | { kind: 'link'; to: string[] };
}

/** Throws `RefusedEntryError` for an absolute path, one with `..`, and for what is no file, folder or link. */
export const parseEntry = (header: Header): ArchiveEntry => {
  if (Object.keys(header.pax ?? {}).some((key) => key.startsWith('GNU.sparse.')))
    throw new RefusedEntryError('is stored sparse');
  const path = parsePath(header.name);
  if (path.length === 0 && header.type !== 'directory') throw new RefusedEntryError('has no name');
  return {
    path,
    mode: header.mode & 0o7777,
    modifiedAtSeconds: header.mtime.getTime() / 1000,
    content: parseContent(header),
  };
};

const parseContent = ({ type, linkname }: Header): ArchiveEntry['content'] => {
  switch (type) {
    case 'file':
    case 'contiguous-file':
      return { kind: 'file' };
    case 'directory':
      return { kind: 'folder' };
    case 'symlink':
      if (!linkname || linkname.includes('\0')) throw new RefusedEntryError('links to nothing');
      return { kind: 'symlink', target: linkname };
    case 'link':
      return { kind: 'link', to: parsePath(linkname ?? '') };
    default:
      throw new RefusedEntryError(`is a ${type ?? 'thing'}, not a file, folder or link`);
  }
};

const parsePath = (path: string): string[] => {
  if (path.startsWith('/')) throw new RefusedEntryError('has an absolute path');
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw new RefusedEntryError('leaves the archive by ".."');
  if (path.includes('\0')) throw new RefusedEntryError('has a name with NUL');
  return parts;
};
