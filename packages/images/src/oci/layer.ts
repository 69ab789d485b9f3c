import {
  chmodSync,
  closeSync,
  fchmodSync,
  fchownSync,
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
import { ImageError } from '../image-error.ts';
import { containedPath } from './contained-path.ts';
import type { StrangeOwners } from './owners.ts';
import type { TarEntry } from './tar-entry.ts';

/** The path of a file or folder → names and values of its extended attributes. */
export type AttributesByPath = Map<string, ReadonlyMap<string, string>>;

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
export function createLayer(root: string, { owners }: { owners: Pick<StrangeOwners, 'note'> }): Layer {
  /** Everything that this layer wrote, with the folders above: a whiteout spares it, at any position in the archive. */
  const written = new Set<string>([root]);
  const folderTimes = new Map<string, number>();
  const attributes = new Map<string, ReadonlyMap<string, string>>();
  const parents = new Map<string, string>();

  const locate = (name: string): string => {
    const slash = name.lastIndexOf('/');
    const parentName = slash === -1 ? '' : name.slice(0, slash);
    let parent = parents.get(parentName);
    if (parent === undefined) {
      parent = containedPath(root, parentName, { followLast: true });
      parents.set(parentName, parent);
    }
    return name === '' ? root : join(parent, name.slice(slash + 1));
  };

  const remove = (path: string): void => {
    rmSync(path, { recursive: true, force: true });
    parents.clear();
  };

  /** Removes what lower layers have at `path`; what this layer wrote there or below stays. */
  const removeLower = (path: string): void => {
    if (!written.has(path)) remove(path);
    else if (isDirectory(path)) for (const child of readdirSync(path)) removeLower(join(path, child));
  };

  /** Removes what is at `path` and marks the path as written. */
  const claim = (path: string, { asDirectory }: { asDirectory: boolean }): void => {
    if (path === root && !asDirectory)
      throw new ImageError('unsafe', 'a layer replaces the root of the image');
    makeParents(dirname(path), root);
    const isThere = lstatSync(path, { throwIfNoEntry: false });
    if (isThere && !(asDirectory && isThere.isDirectory())) remove(path);
    attributes.delete(path);
    for (let at = path; !written.has(at); at = dirname(at)) written.add(at);
  };

  const write = async (entry: TarEntry, path: string, content: AsyncIterable<Uint8Array>): Promise<void> => {
    switch (entry.kind) {
      case 'directory':
        claim(path, { asDirectory: true });
        if (!isDirectory(path)) mkdirSync(path);
        lchownSync(path, entry.uid, entry.gid);
        chmodSync(path, entry.mode);
        folderTimes.set(path, entry.modifiedAtSeconds);
        break;
      case 'file':
        claim(path, { asDirectory: false });
        await writeFile(path, entry, content);
        break;
      case 'symlink':
        claim(path, { asDirectory: false });
        symlinkSync(entry.target, path);
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
        claim(path, { asDirectory: false });
        linkSync(source, path);
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

async function writeFile(path: string, entry: TarEntry, content: AsyncIterable<Uint8Array>): Promise<void> {
  // Exclusive: opens no existing file, and follows no link.
  const file = openSync(path, 'wx', 0o600);
  try {
    for await (const chunk of content)
      for (let done = 0; done < chunk.length; ) done += writeSync(file, chunk, done);
    fchownSync(file, entry.uid, entry.gid);
    fchmodSync(file, entry.mode); // After the owner: chown(2) clears setuid.
    futimesSync(file, entry.modifiedAtSeconds, entry.modifiedAtSeconds);
  } finally {
    closeSync(file);
  }
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
