import { stat } from 'node:fs/promises';
import { RuntimeError } from '../../../error.ts';

/** Resolves the image of a sandbox, a folder or a file, to a folder that its root can lie over. */
export interface Roots {
  /**
   * Resolves with the folder, which exists until `release` is called for that user, a unique name. Rejects with
   * `internal` when there is no such image, and with `unsupported` for a file where this host cannot mount it.
   */
  open(rootfs: string, user: string): Promise<string>;
  /** Call when the user does not need any image to be reachable any more. Idempotent. */
  release(user: string): void;
  /** Unmounts the images that have no users. */
  close(): Promise<void>;
}

/** Returns the roots of users who cannot mount: images are folders. */
export const createFolderRoots = (): Roots => ({
  open: async (rootfs) => {
    const found = await stat(rootfs).catch((cause: unknown) => {
      throw new RuntimeError('internal', `there is no image ${rootfs}`, { cause });
    });
    if (found.isDirectory()) return rootfs;
    throw new RuntimeError('unsupported', `the image ${rootfs} cannot be mounted without root of the host`);
  },
  release: () => undefined,
  close: async () => undefined,
});
