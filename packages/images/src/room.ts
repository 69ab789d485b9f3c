import { ImageError } from './image-error.ts';

/** What the file system of a folder can take beside what it keeps in reserve. */
export type ReadSpareRoom = (folder: string) => { sizeBytes: number; entryCount: number };

/** Throws `no_room` where the host has no room for `sizeBytes`. */
export type RequireRoom = (sizeBytes: number) => void;

/** Makes a check of the room in that folder, which reads it at each call. */
export const toRequireRoom =
  (folder: string, readSpareRoom: ReadSpareRoom): RequireRoom =>
  (sizeBytes) => {
    const spare = readSpareRoom(folder);
    if (sizeBytes > spare.sizeBytes || spare.entryCount < 1)
      throw new ImageError('no_room', 'the host has too little room for the image');
  };
