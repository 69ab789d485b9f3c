import type { Usage } from '../../../runtime.ts';
import type { SandboxFolder } from '../folder.ts';
import type { KeptDisk } from './kept-disk.ts';

/** Stores the writable files of sandboxes: at rest under the path `image`, in use under `target`. */
export interface Disks {
  /** Makes an empty disk that holds at most `sizeBytes`, where this kind is bounded. */
  make(image: string, sizeBytes: number): Promise<void>;
  /** Mounts it at `target`, which is made. */
  open(options: { image: string; target: string }): Promise<void>;
  /**
   * Resolves when all of it is on the medium and undamaged, and `target` is removed. It must not be in use. Idempotent,
   * and correct after a power cut too.
   */
  close(options: { image: string; target: string }): Promise<void>;
  /**
   * Resolves with the folder of the content of a disk at rest, to be read only, whose files have the owners of those of an
   * image. It may be mounted at `target`, which is made then; the caller unmounts it. `baseId` is the id of root on the disk.
   */
  show(options: { image: string; target: string; baseId: number }): Promise<string>;
  /** Describes a disk at rest, so that a replaced or changed one is detected. */
  describe(image: string): Promise<KeptDisk>;
  /** Measures an open disk, or one at rest, on which nothing is free. */
  measure(folder: SandboxFolder): Promise<Pick<Usage, 'diskBytes' | 'freeDiskBytes'>>;
}
