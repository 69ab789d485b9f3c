import { open } from 'node:fs/promises';
import { closeOutsideConnections, FILE_INET_SOCKET } from './connection-images.ts';
import { shortenDeletedNames } from './deleted-names.ts';
import { readFiles } from './files-image.ts';
import { allowRewriting } from './rewritten-files.ts';
import { dropDeadWatches, FILE_INOTIFY } from './watch-images.ts';

/**
 * Changes the images of the processes, which stand still, so that they can be restored in another network and on a copy of
 * their disk. To be called before the images are hashed. Resolves with whether sockets in them need a network to be
 * restored in. Rejects with `internal` when they cannot be understood.
 */
export const mendImages = async (folder: string, pids: readonly number[]): Promise<boolean> => {
  await using file = await open(`${folder}/files.img`, 'r+');
  const bytes = await file.readFile();
  const files = await readFiles(bytes, [FILE_INET_SOCKET, FILE_INOTIFY]);
  const { hasChanged, needsNetwork } = await closeOutsideConnections(
    bytes,
    files.get(FILE_INET_SOCKET) ?? [],
  );
  const hasDropped = await dropDeadWatches(bytes, { watchers: files.get(FILE_INOTIFY) ?? [], pids });
  const hasShortened = await shortenDeletedNames(bytes, folder);
  const allowsRewriting = await allowRewriting(bytes);
  if (hasChanged || hasDropped || hasShortened || allowsRewriting)
    await file.write(bytes, 0, bytes.length, 0);
  return needsNetwork;
};
