/** One entry of a tree, as it is inside. */
export interface TreeEntry {
  /** Absolute. See `toPathText` for names that are no UTF-8. */
  path: string;
  type: 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'character-device' | 'block-device';
  /** Permissions with the bits for setuid, setgid and sticky. */
  mode: number;
  uid: number;
  gid: number;
  /** Of files. */
  sizeBytes?: number;
  /** Of what is in a file, in hex, see `hashSparse`; empty when it went away meanwhile. */
  sha256?: string;
  /** Of links. */
  target?: string;
  /** Of devices, as in `1:3`. */
  device?: string;
  /** Values in base64. Absent when there are none. */
  xattrs?: Record<string, string>;
}

/** What a sandbox's own files are to the image below them. */
export type LayerEntry =
  | (TreeEntry & {
      /** Of a directory that hides that of the image. */
      opaque?: true;
    })
  /** Hides what the image has there. */
  | { path: string; type: 'removed' };

/** By path. */
export type Layer = ReadonlyMap<string, LayerEntry>;
