/** One entry of a tree, as it is inside. */
export interface TreeEntry {
  /** Absolute. See `toPathText` for names that are not UTF-8. */
  path: string;
  type: 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'character-device' | 'block-device';
  /** Permissions with the bits for setuid, setgid and sticky. */
  mode: number;
  uid: number;
  gid: number;
  /** The size of a file. */
  sizeBytes?: number;
  /** The hash of the content, in hex, see `hashSparse`; empty when the file disappeared meanwhile. */
  sha256?: string;
  /** The target of a link. */
  target?: string;
  /** The numbers of a device, such as `1:3`. */
  device?: string;
  /** Values in base64. Absent when there are none. */
  xattrs?: Record<string, string>;
}

/** How a sandbox's own files relate to the image below them. */
export type LayerEntry =
  | (TreeEntry & {
      /** A directory that hides that of the image. */
      opaque?: true;
    })
  /** Hides the image's entry. */
  | { path: string; type: 'removed' };

/** Path → entry. */
export type Layer = ReadonlyMap<string, LayerEntry>;
