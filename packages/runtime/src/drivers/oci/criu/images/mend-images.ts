import { readFile, writeFile } from 'node:fs/promises';
import {
  FileEntrySchema,
  type RegularFile,
  type Remap,
  RemapSchema,
} from '../../../../gen/criu/images/images_pb.ts';
import type { SandboxRoot } from '../processes/sandbox-root.ts';
import { closeOutsideConnections } from './connection-images.ts';
import { shortenDeletedNames } from './deleted-names.ts';
import { parseImage, toImageBytes } from './image-file.ts';
import { resendLostPackets } from './lost-packets.ts';
import { placeDeleted } from './place-deleted.ts';
import { acceptRetractedWindows } from './retracted-windows.ts';
import { allowRewriting } from './rewritten-files.ts';
import { followSocketPaths } from './socket-paths.ts';
import { dropDeadWatches } from './watch-images.ts';

export interface MendedImages {
  /** Whether sockets in them need a network to be restored in. */
  needsNetwork: boolean;
  files: RegularFile[];
  remaps: Remap[];
}

/**
 * Changes the images of the processes, which stand still, so that they can be restored in another network and on a copy of
 * their disk. To be called before the images are hashed. Rejects with `internal` when the images cannot be understood, and with an
 * `ObstacleError` when a restore could not make a socket again.
 */
export const mendImages = async (
  folder: string,
  { pids, root }: { pids: readonly number[]; root: SandboxRoot },
): Promise<MendedImages> => {
  const path = `${folder}/files.img`;
  const [image, remaps] = await Promise.all([
    readFile(path).then((bytes) => parseImage(FileEntrySchema, bytes)),
    readRemaps(folder),
  ]);
  const files = image.messages.flatMap((file) => file.regular ?? []);
  const sockets = image.messages.flatMap((file) => file.internetSocket ?? []);
  const unixSockets = image.messages.flatMap((file) => file.unixSocket ?? []);
  const watchers = image.messages.flatMap((file) => file.inotify ?? []);
  const { hasChanged, needsNetwork } = await closeOutsideConnections(sockets);
  await resendLostPackets(sockets, folder);
  await acceptRetractedWindows(sockets, folder);
  const changes = [
    hasChanged,
    await dropDeadWatches(watchers, pids),
    placeDeleted({ files, remaps }, root),
    shortenDeletedNames(files, remaps),
    await followSocketPaths(unixSockets, { pids, root }),
    allowRewriting(files),
  ];
  if (changes.includes(true)) await writeFile(path, await toImageBytes(FileEntrySchema, image));
  return { needsNetwork, files, remaps };
};

const readRemaps = async (folder: string): Promise<Remap[]> => {
  const bytes = await readFile(`${folder}/remap-fpath.img`).catch((error: NodeJS.ErrnoException) => {
    // The image is missing when no process had a deleted file open.
    if (error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
  return (await parseImage(RemapSchema, bytes)).messages;
};
