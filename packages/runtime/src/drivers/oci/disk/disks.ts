import type { SandboxFolder } from '../folder.ts';
import type { KeptDisk } from './kept-disk.ts';

/** How the writable files of sandboxes are kept: at rest under the path `image`, in use under `target`. */
export interface Disks {
  /** Makes an empty one that holds no more than `sizeBytes`, where this kind has bounds. */
  make(image: string, sizeBytes: number): Promise<void>;
  /** Shows it at `target`, which is made. */
  open(options: { image: string; target: string }): Promise<void>;
  /**
   * Resolves when all of it is on the medium and whole, and nothing is at `target`. Nobody may use it any more.
   * Idempotent, and right after a power cut too.
   */
  close(options: { image: string; target: string }): Promise<void>;
  /** What tells one at rest from one that was replaced or written to. */
  describe(image: string): Promise<KeptDisk>;
  /** Of an open one, or one at rest. */
  usedBytes(folder: SandboxFolder): Promise<number>;
}
