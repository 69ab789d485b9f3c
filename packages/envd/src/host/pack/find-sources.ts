import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { posix } from 'node:path';
import type { PackRequest } from '@skerry/contract/agent-control';
import { invalid } from '@skerry/contract/error';
import picomatch from 'picomatch';
import { isErrno } from '../../system/errno.ts';

/** Something that is packed. */
export interface Source {
  /** Absolute, without links. */
  path: string;
  /** The name in the archive, relative; empty for the top. */
  name: string;
}

export interface FoundSources {
  sources: readonly Source[];
  /** The path in the archive from which names count. */
  root: string;
  /** Whether a pattern has several matches, so that the destination is a folder. */
  isSeveral: boolean;
}

/** What the host mounts into a sandbox, which is no part of its files. */
export const mounted: readonly string[] = ['/proc', '/sys', '/dev', '/.envd', '/run/envd'];

const hasPattern = (part: string): boolean => /[*?[]/.test(part);
const toName = (path: string): string => path.replace(/^\/+/, '');

/**
 * What a path of this file system names, or a pattern with `*`, `?` and `[…]`. Links on the way and at the end are followed.
 * Where a pattern has several matches, each file counts by its own name, and of each folder what is in it. With `inside` the path is that of a
 * folder, and names count from it. Throws `invalid_argument` when nothing is there, and for what the host mounts.
 */
export const findSources = ({ source: text, inside }: PackRequest): FoundSources => {
  if (text.includes('\0')) throw invalid('a path must not contain NUL');
  const path = posix.join('/', text).replace(/(?<=.)\/+$/, '');
  if (inside) return { sources: [{ path: resolveLinks(path, text), name: '' }], root: '', isSeveral: false };
  if (!path.split('/').some(hasPattern)) return toOnly(path, text);
  const [only, ...others] = expand(path);
  if (only === undefined) throw invalid(`nothing matches ${JSON.stringify(text)}`);
  if (others.length === 0) return toOnly(only, text);
  const sources = [only, ...others].map((match): Source => {
    const found = resolveLinks(match, text);
    const isFolder = lstatSync(found).isDirectory();
    return { path: found, name: isFolder ? '' : posix.basename(match) };
  });
  return { sources, root: '', isSeveral: true };
};

const toOnly = (path: string, text: string): FoundSources => {
  const root = toName(path);
  return { sources: [{ path: resolveLinks(path, text), name: root }], root, isSeveral: false };
};

const resolveLinks = (path: string, text: string): string => {
  let found: string;
  try {
    found = realpathSync(path);
  } catch (error) {
    if (!isErrno(error)) throw error;
    const reason = error.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${error.code}`;
    throw invalid(`${JSON.stringify(text)} ${reason}`, { cause: error });
  }
  if (mounted.some((one) => found === one || found.startsWith(`${one}/`)))
    throw invalid(`${JSON.stringify(text)} is no file of the image`);
  return found;
};

/** The paths that match, in the order of their names. */
const expand = (pattern: string): string[] => {
  let found = ['/'];
  for (const part of pattern.split('/').filter(Boolean)) {
    // Use picomatch: unlike Docker, matchesGlob of node:path expands braces and skips names that begin with a
    // dot.
    const isMatch = picomatch(part, { dot: true, nobrace: true, noextglob: true, nonegate: true });
    found = found.flatMap((folder) => {
      const names = hasPattern(part) ? listNames(folder).filter((name) => isMatch(name)) : [part];
      return names.map((name) => posix.join(folder, name)).filter(isThere);
    });
  }
  return found;
};

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

const listNames = (folder: string): string[] => {
  try {
    return readdirSync(folder).toSorted();
  } catch (error) {
    if (isErrno(error) && error.code === 'ENOTDIR') return [];
    throw error;
  }
};
