import { lstatSync, readdirSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { join, sep } from 'node:path';
import { toSandboxError } from '../../errors.ts';
import type { BuildFolder } from './open-folder.ts';

/** One entry of the archive of a step. */
export type BuildFile = {
  /** In the archive, with `/`. */
  name: string;
  /** On the disk, absolute. */
  path: string;
  /** Permission bits. */
  mode: number;
  mtime: Date;
  /** Whether the step names it itself, and not a folder that it is in. */
  isSource?: boolean;
} & ({ type: 'file'; sizeBytes: number } | { type: 'directory' } | { type: 'symlink'; target: string });

/**
 * The entry at a path below the context, under a name of its own. If `follow` is set, links are followed, on the way to it
 * and at its end; else `path` must not pass through one. Undefined when there is none. Throws `invalid_argument` for a link
 * out of the context, and for what is neither file, folder nor link.
 */
export function readEntry(
  { folder }: BuildFolder,
  path: string,
  { name, follow }: { name: string; follow: boolean },
): BuildFile | undefined {
  const written = join(folder, path);
  // A link on the way is followed by the system, wherever it leads.
  const full =
    follow && lstatSync(written, { throwIfNoEntry: false }) ? followInside(folder, written, path) : written;
  const stats = lstatSync(full, { throwIfNoEntry: false });
  return stats && toEntry(stats, full, name);
}

/** Whether a path below the context is that of a folder, with no link on the way or at its end. */
export const isPlainFolder = ({ folder }: BuildFolder, path: string): boolean => {
  const full = join(folder, path);
  return lstatSync(full, { throwIfNoEntry: false })?.isDirectory() === true && realpathSync(full) === full;
};

function followInside(folder: string, link: string, path: string): string {
  const refuse = (what: string): never => {
    throw toSandboxError('invalid_argument', `"${path}" is or passes through a link ${what}`);
  };
  let target: string;
  try {
    target = realpathSync(link);
  } catch {
    // The reason that the system gives names only the link.
    return refuse('to nothing');
  }
  return target === folder || target.startsWith(`${folder}${sep}`) ? target : refuse('out of the context');
}

function toEntry(stats: Stats, path: string, name: string): BuildFile {
  const common = { name, path, mode: stats.mode & 0o7777, mtime: stats.mtime };
  if (stats.isFile()) return { ...common, type: 'file', sizeBytes: stats.size };
  if (stats.isDirectory()) return { ...common, type: 'directory' };
  if (stats.isSymbolicLink()) return { ...common, type: 'symlink', target: readlinkSync(path) };
  throw toSandboxError(
    'invalid_argument',
    `"${name}" is neither a file nor a folder nor a link: name it in .dockerignore`,
  );
}

/**
 * All entries below a folder of the context that are not left out, each before those in it. `path` is where the folder is in
 * the context, and `name` where its entries go in the archive; both may be `.`.
 */
export function* walk(
  context: BuildFolder,
  { path, name, deepest = Number.POSITIVE_INFINITY }: { path: string; name: string; deepest?: number },
): Generator<BuildFile & { at: string }> {
  if (deepest === 0) return;
  for (const child of readdirSync(join(context.folder, path)).toSorted()) {
    const at = path === '.' ? child : `${path}/${child}`;
    const isIgnored = context.isIgnored(at);
    if (isIgnored && !context.hasExceptions) continue;
    const entry = readEntry(context, at, { name: name === '.' ? child : `${name}/${child}`, follow: false });
    if (entry === undefined) continue;
    const below =
      entry.type === 'directory'
        ? walk(context, { path: at, name: entry.name, deepest: deepest - 1 })
        : undefined;
    if (!isIgnored) {
      yield { ...entry, at };
      if (below) yield* below;
      continue;
    }
    // A folder that is left out is there with the exceptions in it.
    const kept = below ? [...below] : [];
    if (kept.length > 0) yield* [{ ...entry, at }, ...kept];
  }
}
