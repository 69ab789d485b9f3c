import { RuntimeError } from '../error.ts';
import { Folder } from '../gen/skerry/node/v1/node_pb.ts';

/** The folders of a node in which sandboxes, and what they begin with, take space. */
export type NodeFolder = 'templates' | 'baseImages' | 'snapshots' | 'sandboxes';

/** The names in a folder, and the space that each takes on the disk. */
export type FolderEntries = Iterable<readonly [name: string, sizeBytes: number]>;

const numbers: Record<NodeFolder, Folder> = {
  templates: Folder.TEMPLATES,
  baseImages: Folder.BASE_IMAGES,
  snapshots: Folder.SNAPSHOTS,
  sandboxes: Folder.SANDBOXES,
};

/** Writes which folder is meant. */
export const toFolderMessage = (folder: NodeFolder): Folder => numbers[folder];

/** Reads which folder is meant. Throws `unsupported` for one that this version does not know. */
export const parseFolder = (message: Folder): NodeFolder => {
  const found = Object.entries(numbers).find(([, number]) => number === message);
  if (found === undefined) throw new RuntimeError('unsupported', `there is no folder ${message} to measure`);
  return found[0] as NodeFolder;
};
