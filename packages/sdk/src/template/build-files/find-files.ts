import { posix } from 'node:path';
import dockerignore from '@balena/dockerignore';
import picomatch from 'picomatch';
import { toSandboxError } from '../../errors.ts';
import type { CopyStep } from '../definition.ts';
import { type BuildFile, isPlainFolder, readEntry, walk } from './build-file.ts';
import type { BuildFolder } from './open-folder.ts';

/** The files of the context that a COPY step copies, and its source as the build gets it. */
export interface FoundFiles {
  /** The source for the build: a path in the archive, escaped, or a pattern whose fixed part is a folder in it. */
  src: string;
  /** Sorted by name. */
  files: BuildFile[];
}

/** The context, without what the step itself leaves out. */
interface Search extends BuildFolder {
  /** Whether a file is left out, by its path below the source, or its name if it is the source. */
  isExcluded(path: string): boolean;
}

/** Throws `invalid_argument` when nothing is there, and for a source outside of the context. */
export function findFiles(
  { src, layout, excludes = [] }: Pick<CopyStep, 'src' | 'layout' | 'excludes'>,
  context: BuildFolder,
): FoundFiles {
  const excluded = dockerignore.default({ ignorecase: false }).add([...excludes]);
  const search: Search = { ...context, isExcluded: (path) => excluded.ignores(path) };
  const [before, after] = layout === 'parents' ? splitAtPivot(src) : [src];
  const path = toPath(after === undefined ? before : `${before}/${after}`, src);
  if (layout === 'parents') {
    const base = after === undefined ? '.' : toPath(before, src);
    const files = findSources(search, path, src).flatMap((match) => withParents(search, match, base));
    return { src: '.', files: toSorted(files) };
  }
  const named = findNamed(search, path);
  if (named.length > 0) return { src: toLiteral(path), files: toSorted(named) };
  const [first, ...others] = findSources(search, path, src);
  if (layout === 'paths')
    return {
      src: path,
      files: toSorted([first, ...others].flatMap((match) => findNamed(search, match, false))),
    };
  if (others.length === 0) return { src: toLiteral(first), files: toSorted(findNamed(search, first)) };
  const base = toFixedPart(path);
  return { src: path, files: toSorted([first, ...others].flatMap((match) => flatten(search, match, base))) };
}

const splitAtPivot = (src: string): [before: string, after?: string] => {
  const at = src.indexOf('/./');
  return at < 0 ? [src] : [src.slice(0, at), src.slice(at + 3)];
};

/** A path below the context, without `.` and `..` in it. Throws `invalid_argument` for one that leaves it. */
function toPath(text: string, src: string): string {
  const path = posix.normalize(text.replaceAll('\\', '/')).replace(/\/+$/, '') || '.';
  if (path.startsWith('/') || path === '..' || path.startsWith('../'))
    throw toSandboxError('invalid_argument', `"${src}" is outside of the context`);
  return path;
}

/** What a path names, or what matches it as a pattern. Throws `invalid_argument` when nothing does. */
function findSources(search: Search, path: string, src: string): [first: string, ...others: string[]] {
  if (findNamed(search, path).length > 0) return [path];
  const [first, ...others] = /[*?[]/.test(path) ? findMatches(search, path) : [];
  if (first !== undefined) return [first, ...others];
  throw toSandboxError(
    'invalid_argument',
    `"${src}" is not in the context "${search.folder}", or .dockerignore leaves it out`,
  );
}

/** A match with the folders that it is in, below `base`. */
function withParents(search: Search, match: string, base: string): BuildFile[] {
  const toName = (path: string): string => (base === '.' ? path : path.slice(base.length + 1));
  const found = findNamed(search, match).map((file) => ({ ...file, name: toName(file.name) || '.' }));
  const parts = toName(match).split('/').slice(0, -1);
  const parents = parts.flatMap((_part, index): BuildFile[] => {
    const name = parts.slice(0, index + 1).join('/');
    const entry = readEntry(search, base === '.' ? name : `${base}/${name}`, { name, follow: true });
    return entry ? [entry] : [];
  });
  return found.length === 0 ? [] : [...parents, ...found.filter(({ name }) => name !== '.')];
}

/** A source in which the service sees no pattern. */
const toLiteral = (path: string): string => path.replaceAll(/[*?[{]|[+@!](?=\()/g, '\\$&');

/** The entry at a path, and all in it. */
function findNamed(search: Search, path: string, follow = true): BuildFile[] {
  const entry = readEntry(search, path, { name: path, follow });
  if (entry === undefined) return [];
  const own = toOwnPath(search, entry);
  const all = entry.type === 'directory' ? [...walk(search, { path: own, name: path })] : [];
  const below = all.filter(
    ({ name }) => !search.isExcluded(path === '.' ? name : name.slice(path.length + 1)),
  );
  // The target of a link is ignored too when a pattern matches its path, and not only that of the link.
  const isIgnored =
    search.isIgnored(path) ||
    search.isIgnored(own) ||
    (entry.type !== 'directory' && search.isExcluded(posix.basename(path)));
  if (isIgnored && below.length === 0) return [];
  return path === '.' ? below : [{ ...entry, isSource: true }, ...below];
}

/** A link that was followed has the path of its target. */
const toOwnPath = ({ folder }: BuildFolder, { path }: BuildFile): string =>
  path === folder ? '.' : path.slice(folder.length + 1).replaceAll('\\', '/');

/** The files of a match as a Dockerfile copies it: a file by its own name, of a folder what is in it. */
function flatten(search: Search, match: string, base: string): BuildFile[] {
  const toName = (name: string): string => (base === '.' ? name : `${base}/${name}`);
  const [entry, ...below] = findNamed(search, match);
  if (entry?.type !== 'directory') return entry ? [{ ...entry, name: toName(posix.basename(match)) }] : [];
  return below.map((one) => ({ ...one, name: toName(one.name.slice(match.length + 1)) }));
}

function findMatches(context: BuildFolder, pattern: string): string[] {
  const base = toFixedPart(pattern);
  if (!isPlainFolder(context, base)) return [];
  const isMatch = picomatch(pattern, { dot: true, nobrace: true, noextglob: true, nonegate: true });
  const rest = pattern.split('/').length - (base === '.' ? 0 : base.split('/').length);
  const deepest = pattern.includes('**') ? Number.POSITIVE_INFINITY : rest;
  return [...walk(context, { path: base, name: base, deepest })]
    .map(({ at }) => at)
    .filter((at) => isMatch(at));
}

/** The folder before the first part with a wildcard. */
function toFixedPart(pattern: string): string {
  const parts = pattern.split('/');
  const fixed = parts.slice(
    0,
    parts.findIndex((part) => /[*?[]/.test(part)),
  );
  return fixed.join('/') || '.';
}

/** Sorted by name; the last of several with one name stays. */
const toSorted = (files: readonly BuildFile[]): BuildFile[] =>
  [...new Map(files.map((file) => [file.name, file])).values()].toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
