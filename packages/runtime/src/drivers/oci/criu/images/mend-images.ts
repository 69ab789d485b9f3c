import { readFile, writeFile } from 'node:fs/promises';
import { FileEntrySchema } from '../../../../gen/criu/images/images_pb.ts';
import { closeOutsideConnections } from './connection-images.ts';
import { shortenDeletedNames } from './deleted-names.ts';
import { parseImage, toImageBytes } from './image-file.ts';
import { resendLostPackets } from './lost-packets.ts';
import { acceptRetractedWindows } from './retracted-windows.ts';
import { allowRewriting } from './rewritten-files.ts';
import { dropDeadWatches } from './watch-images.ts';

/**
 * Changes the images of the processes, which stand still, so that they can be restored in another network and on a copy of
 * their disk. To be called before the images are hashed. Resolves with whether sockets in them need a network to be
 * restored in. Rejects with `internal` when they cannot be understood.
 */
export const mendImages = async (folder: string, pids: readonly number[]): Promise<boolean> => {
  const path = `${folder}/files.img`;
  const image = await parseImage(FileEntrySchema, await readFile(path));
  const regular = image.messages.flatMap((file) => file.regular ?? []);
  const sockets = image.messages.flatMap((file) => file.internetSocket ?? []);
  const watchers = image.messages.flatMap((file) => file.inotify ?? []);
  const { hasChanged, needsNetwork } = await closeOutsideConnections(sockets);
  await resendLostPackets(sockets, folder);
  await acceptRetractedWindows(sockets, folder);
  const hasDropped = await dropDeadWatches(watchers, pids);
  const hasShortened = await shortenDeletedNames(regular, folder);
  const allowsRewriting = allowRewriting(regular);
  if (hasChanged || hasDropped || hasShortened || allowsRewriting)
    await writeFile(path, await toImageBytes(FileEntrySchema, image));
  return needsNetwork;
};
