import { posix } from 'node:path';
import picomatch from 'picomatch';
import { toSandboxError } from '../../errors.ts';
import type { CopyStep } from '../definition.ts';
import { type ContextFile, isPlainFolder, readEntry, walk } from './context-file.ts';
import type { Context } from './open-context.ts';

/** The files of the context that a COPY step copies, and its source as the build gets it. */
export interface FoundFiles {
  /** The source for the build: a path in the archive, escaped, or a pattern whose fixed part is a folder in it. */
  src: string;
  /** Sorted by name. */
  files: ContextFile[];
}

/** Throws `invalid_argument` when nothing is there, and for a source outside of the context. */
export function findFiles({ src, layout }: Pick<CopyStep, 'src' | 'layout'>, context: Context): FoundFiles {
  const path = posix.normalize(src.replaceAll('\\', '/')).replace(/\/+$/, '') || '.';
  if (path.startsWith('/') || path === '..' || path.startsWith('../'))
    throw toSandboxError('invalid_argument', `"${src}" is outside of the context`);
  const named = findNamed(context, path);
  if (named.length > 0) return { src: toLiteral(path), files: toSorted(named) };
  const matches = /[*?[]/.test(path) ? findMatches(context, path) : [];
  const [first, ...others] = matches;
  if (first === undefined)
    throw toSandboxError(
      'invalid_argument',
      `"${src}" is not in the context "${context.folder}", or .dockerignore leaves it out`,
    );
  if (layout === 'paths')
    return { src: path, files: toSorted(matches.flatMap((match) => findNamed(context, match, false))) };
  if (others.length === 0) return { src: toLiteral(first), files: toSorted(findNamed(context, first)) };
  const base = toFixedPart(path);
  return { src: path, files: toSorted(matches.flatMap((match) => flatten(context, match, base))) };
}

/** A source in which the service sees no pattern. */
const toLiteral = (path: string): string => path.replaceAll(/[*?[{]|[+@!](?=\()/g, '\\$&');

/** The entry at a path, and all in it. */
function findNamed(context: Context, path: string, follow = true): ContextFile[] {
  const entry = readEntry(context, path, { name: path, follow });
  if (entry === undefined) return [];
  const own = toOwnPath(context, entry);
  const below = entry.type === 'directory' ? [...walk(context, { path: own, name: path })] : [];
  // The target of a link is ignored too when a pattern matches its path, and not only that of the link.
  const isIgnored = context.isIgnored(path) || context.isIgnored(own);
  if (isIgnored && below.length === 0) return [];
  return path === '.' ? below : [{ ...entry, isSource: true }, ...below];
}

/** A link that was followed has the path of its target. */
const toOwnPath = ({ folder }: Context, { path }: ContextFile): string =>
  path === folder ? '.' : path.slice(folder.length + 1).replaceAll('\\', '/');

/** As a Dockerfile copies a match: a file by its own name, of a folder what is in it. */
function flatten(context: Context, match: string, base: string): ContextFile[] {
  const toName = (name: string): string => (base === '.' ? name : `${base}/${name}`);
  const [entry, ...below] = findNamed(context, match);
  if (entry?.type !== 'directory') return entry ? [{ ...entry, name: toName(posix.basename(match)) }] : [];
  return below.map((one) => ({ ...one, name: toName(one.name.slice(match.length + 1)) }));
}

function findMatches(context: Context, pattern: string): string[] {
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

/** Of several with one name, the last stays. */
const toSorted = (files: readonly ContextFile[]): ContextFile[] =>
  [...new Map(files.map((file) => [file.name, file])).values()].toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
