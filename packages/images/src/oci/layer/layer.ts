import {
  chmodSync,
  closeSync,
  fchmodSync,
  fchownSync,
  ftruncateSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { readSparse } from '@skerry/contract/sparse-file';
import { ImageError } from '../../image-error.ts';
import { containedPath } from './contained-path.ts';
import type { StrangeOwners } from './owners.ts';
import type { TarEntry } from './tar-entry.ts';

/** The path of a file or folder → names and values of its extended attributes. */
export type AttributesByPath = Map<string, ReadonlyMap<string, Buffer>>;

export interface Layer {
  /** Applies one entry; `content` is read for files only, and to its end. */
  add(entry: TarEntry, content: AsyncIterable<Uint8Array>): Promise<void>;
  /**
   * Sets the times of folders, which later entries have changed, and returns the attributes that remain to be set, on
   * existing paths without links.
   */
  finish(): AttributesByPath;
}

/**
 * Writes the entries of one layer into the tree that the layers before it left under `root`. For any names and links,
 * nothing outside of `root` is read, written or removed, as long as no other process changes the tree meanwhile. Needs
 * root for entries of other owners. Throws `corrupt` for entries that contradict the tree.
 */
export function createLayer(
  root: string,
  {
    owners,
    onPath,
  }: {
    owners: Pick<StrangeOwners, 'note'>;
    /** Called with the name below the root of each path that stays in memory; throws where they are too long. */
    onPath: (name: string) => void;
  },
): Layer {
  /** Everything that this layer wrote, with the folders above: a whiteout spares it, at any position in the archive. */
  const written = new Set<string>([root]);
  const folderTimes = new Map<string, number>();
  const attributes = new Map<string, ReadonlyMap<string, Buffer>>();
  const parents = new Map<string, string>();
  /** Paths of folders with no link on their way. Only the removal of something can change that. */
  const folders = new Set<string>([root]);

  const locate = (name: string): string => {
    if (name === '') return root;
    const slash = name.lastIndexOf('/');
    const literal = slash === -1 ? root : `${root}/${name.slice(0, slash)}`;
    if (folders.has(literal)) return `${root}/${name}`;
    let parent = parents.get(literal);
    if (parent === undefined) {
      parent = containedPath(root, name.slice(0, slash), { followLast: true });
      parents.set(literal, parent);
    }
    return `${parent}/${name.slice(slash + 1)}`;
  };

  const remove = (path: string): void => {
    rmSync(path, { recursive: true, force: true });
    parents.clear();
    folders.clear();
    folders.add(root);
  };

  /** Removes what lower layers have at `path`; what this layer wrote there or below stays. */
  const removeLower = (path: string): void => {
    if (!written.has(path)) remove(path);
    else if (isDirectory(path)) for (const child of readdirSync(path)) removeLower(join(path, child));
  };

  /**
   * Marks the path as written, and has `make` make what is new there, which must fail with EEXIST for anything that is there
   * already: that is removed then.
   */
  const claim = <T>(path: string, make: () => T): T => {
    if (path === root) throw new ImageError('unsafe', 'a layer replaces the root of the image');
    const parent = dirname(path);
    if (!folders.has(parent)) {
      makeParents(parent, root);
      folders.add(parent);
    }
    attributes.delete(path);
    for (let at = path; !written.has(at); at = dirname(at)) {
      onPath(at.slice(root.length));
      written.add(at);
    }
    try {
      return make();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      remove(path);
      return make();
    }
  };

  const makeFolder = (path: string): void => {
    if (path === root) attributes.delete(path);
    else
      claim(path, () => {
        if (!folders.has(path) && !isDirectory(path)) mkdirSync(path);
      });
    folders.add(path);
  };

  const write = async (entry: TarEntry, path: string, content: AsyncIterable<Uint8Array>): Promise<void> => {
    switch (entry.kind) {
      case 'directory':
        makeFolder(path);
        lchownSync(path, entry.uid, entry.gid);
        chmodSync(path, entry.mode);
        folderTimes.set(path, entry.modifiedAtSeconds);
        break;
      case 'file':
        // Exclusive: opens no existing file, and follows no link.
        await writeFile(
          claim(path, () => openSync(path, 'wx', 0o600)),
          entry,
          content,
        );
        break;
      case 'symlink':
        claim(path, () => symlinkSync(entry.target, path));
        parents.clear();
        lchownSync(path, entry.uid, entry.gid);
        lutimesSync(path, entry.modifiedAtSeconds, entry.modifiedAtSeconds);
        break;
      case 'link': {
        const source = locate(entry.target);
        if (source === path) break;
        const target = lstatSync(source, { throwIfNoEntry: false });
        if (!target || target.isDirectory())
          throw new ImageError(
            'corrupt',
            `${entry.name} is a hard link to ${entry.target}, which is no file`,
          );
        claim(path, () => linkSync(source, path));
        owners.note(path, target);
        parents.clear(); // The source may be a symbolic link.
        break;
      }
      case 'whiteout':
        removeLower(path);
        break;
      case 'opaque':
        if (isDirectory(path)) for (const child of readdirSync(path)) removeLower(join(path, child));
        break;
      case 'ignored':
        break;
    }
    if (entry.kind === 'directory' || entry.kind === 'file' || entry.kind === 'symlink')
      owners.note(path, entry);
    if (entry.attributes.size > 0 && (entry.kind === 'file' || entry.kind === 'directory'))
      attributes.set(path, entry.attributes);
  };

  /** Whether `path` is still what was written there, and not behind a link that came later. */
  const isStillThere = (path: string): boolean =>
    lstatSync(path, { throwIfNoEntry: false }) !== undefined &&
    containedPath(root, path.slice(root.length), { followLast: true }) === path;

  return {
    async add(entry, content) {
      // An opaque marker is about the folder itself, which may be reached through a link.
      const path =
        entry.kind === 'opaque' ? containedPath(root, entry.name, { followLast: true }) : locate(entry.name);
      await write(entry, path, content);
    },
    finish() {
      for (const [path, seconds] of folderTimes)
        if (isStillThere(path) && isDirectory(path)) lutimesSync(path, seconds, seconds);
      return new Map([...attributes].filter(([path]) => isStillThere(path)));
    },
  };
}

/** Writes a new file, and closes it in any case. */
async function writeFile(
  file: number,
  entry: Extract<TarEntry, { kind: 'file' }>,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { sparse, name } = entry;
  try {
    if (sparse === undefined) for await (const chunk of content) writeAll(file, chunk);
    else {
      for await (const { bytes, position } of readSparse(sparse, content, name))
        writeAll(file, bytes, position);
      ftruncateSync(file, sparse.sizeBytes);
    }
    fchownSync(file, entry.uid, entry.gid);
    fchmodSync(file, entry.mode); // After the owner: chown(2) clears setuid.
    futimesSync(file, entry.modifiedAtSeconds, entry.modifiedAtSeconds);
  } finally {
    closeSync(file);
  }
}

/** At that position, or at the current one. */
function writeAll(file: number, bytes: Uint8Array, position?: number): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(
      file,
      bytes,
      done,
      bytes.length - done,
      position === undefined ? null : position + done,
    );
}

/** Folders without an entry of their own belong to root, whatever the umask. */
function makeParents(path: string, root: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() || path.length < root.length) return;
  if (found) throw new ImageError('corrupt', `${path.slice(root.length)} is used as a folder and is not one`);
  makeParents(dirname(path), root);
  mkdirSync(path);
  chmodSync(path, 0o755);
}

function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
