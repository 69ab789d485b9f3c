import { open } from 'node:fs/promises';
import { closeOutsideConnections } from './connection-images.ts';
import { dropDeadWatches } from './watch-images.ts';

/**
 * Changes the images of the processes, which stand still, so that they can be restored in another network and on a copy of
 * their disk. To be called before the images are hashed. Resolves with whether sockets in them need a network to be
 * restored in. Rejects with `internal` when they cannot be understood.
 */
export const mendImages = async (folder: string, pids: readonly number[]): Promise<boolean> => {
  await using file = await open(`${folder}/files.img`, 'r+');
  const bytes = await file.readFile();
  const before = Buffer.from(bytes);
  const needsNetwork = closeOutsideConnections(bytes);
  dropDeadWatches(bytes, pids);
  if (!bytes.equals(before)) await file.write(bytes, 0, bytes.length, 0);
  return needsNetwork;
};
