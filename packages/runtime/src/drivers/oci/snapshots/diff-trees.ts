import { lstatSync, readdirSync } from 'node:fs';
import { createYielder } from '../../../concurrency/yielder.ts';
import { RuntimeError } from '../../../error.ts';
import type { Difference, DifferentField } from '../../../runtime.ts';
import { toPathBytes, toPathText } from '../../path-text.ts';
import { describePath, hashFile } from './read-tree.ts';
import type { Layer, LayerEntry, TreeEntry } from './tree-entry.ts';

/** The file system as seen inside: a sandbox's own files over an image. */
export interface Tree {
  rootfs: string;
  layer: Layer;
}

/** The size of all differences as JSON: the caller gets all of them at once. */
const MAX_DIFFERENCES_LENGTH = 32 * 2 ** 20;

/**
 * Lists the changes from the first to the second, ordered by path. Only reads what one of them has of its own, or
 * hides: the image below costs nothing. Rejects with `unsupported` when they have different images, or differ in more
 * than one result can hold, and with the signal's reason when that aborts.
 */
export async function* diffTrees(
  from: Tree,
  to: Tree,
  { signal }: { signal?: AbortSignal | undefined } = {},
): AsyncGenerator<Difference> {
  if (from.rootfs !== to.rootfs) {
    throw new RuntimeError('unsupported', 'the two were made from different images');
  }
  const takeTurns = createYielder();
  const pause = async (): Promise<void> => {
    await takeTurns();
    signal?.throwIfAborted();
  };
  const toDifference = async (path: string): Promise<Difference | undefined> => {
    const [before, after] = [look(from, path), look(to, path)];
    if (before === undefined) return after && { path, change: 'added' };
    if (after === undefined) return { path, change: 'removed' };
    const fields = await compare(from.rootfs, { before, after, signal });
    return fields.length > 0 ? { path, change: 'changed', fields } : undefined;
  };
  let lengthLeft = MAX_DIFFERENCES_LENGTH;
  for (const path of await listCandidates(from, to, pause)) {
    await pause();
    const difference = await toDifference(path);
    if (difference === undefined) continue;
    lengthLeft -= JSON.stringify(difference).length;
    if (lengthLeft < 0) throw new RuntimeError('unsupported', 'the two differ in too many files');
    yield difference;
  }
}

const listCandidates = async (from: Tree, to: Tree, pause: () => Promise<void>): Promise<string[]> => {
  const paths = new Set<string>();
  for (const { layer } of [from, to]) {
    for (const entry of layer.values()) {
      await pause();
      paths.add(entry.path);
      if (!hidesImage(entry)) continue;
      for (const path of listImage(from.rootfs, entry.path)) {
        await pause();
        paths.add(path);
      }
    }
  }
  return Array.from(paths, (path) => ({ path, order: toOrder(path) }))
    .sort((a, b) => (a.order < b.order ? -1 : 1))
    .map(({ path }) => path);
};

/** A folder comes right before its content. */
const toOrder = (path: string): string => path.replaceAll('/', '\u0000');

const hidesImage = (entry: LayerEntry): boolean =>
  entry.type !== 'directory' || ('opaque' in entry && entry.opaque === true);

/** Everything in the image below a path. */
function* listImage(rootfs: string, path: string): Generator<string> {
  if (describeImagePath(rootfs, path)?.type !== 'directory') return;
  for (const name of readdirSync(toHostPath(rootfs, path), { encoding: 'buffer' })) {
    const next = `${path}/${toPathText(name)}`;
    yield next;
    yield* listImage(rootfs, next);
  }
}

const toHostPath = (rootfs: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(rootfs), toPathBytes(path)]);

/** The entry at a path, or undefined. Without a hash when it is the image's. */
const look = ({ rootfs, layer }: Tree, path: string): TreeEntry | undefined => {
  const own = layer.get(path);
  if (own !== undefined) return own.type === 'removed' ? undefined : own;
  for (let above = toParent(path); above !== ''; above = toParent(above)) {
    const entry = layer.get(above);
    if (entry !== undefined && hidesImage(entry)) return undefined;
  }
  return describeImagePath(rootfs, path);
};

/**
 * The image's entry at a path. Follows no link: code inside may have put a folder in its place, and on the host it
 * leads to a file of the host.
 */
const describeImagePath = (rootfs: string, path: string): TreeEntry | undefined => {
  for (let end = path.indexOf('/', 1); end !== -1; end = path.indexOf('/', end + 1)) {
    const above = lstatSync(toHostPath(rootfs, path.slice(0, end)), { throwIfNoEntry: false });
    if (above?.isDirectory() !== true) return undefined;
  }
  return describePath(toHostPath(rootfs, path), path, { baseId: 0 });
};

const toParent = (path: string): string => path.slice(0, path.lastIndexOf('/'));

const plainFields = ['type', 'mode', 'uid', 'gid', 'sizeBytes', 'target', 'device'] as const;

const compare = async (
  rootfs: string,
  { before, after, signal }: { before: TreeEntry; after: TreeEntry; signal: AbortSignal | undefined },
): Promise<DifferentField[]> => {
  const fields: DifferentField[] = plainFields.filter((name) => before[name] !== after[name]);
  if (JSON.stringify(before.xattrs ?? {}) !== JSON.stringify(after.xattrs ?? {})) fields.push('xattrs');
  const maySame = before.type === 'file' && after.type === 'file' && before.sizeBytes === after.sizeBytes;
  if (!maySame) return fields;
  const hashes = [before, after].map(
    async ({ sha256, path }) => sha256 ?? hashFile(toHostPath(rootfs, path), signal),
  );
  const [one, other] = await Promise.all(hashes);
  return one === other ? fields : [...fields, 'content'];
};
