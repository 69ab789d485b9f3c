import { basename } from 'node:path';
import type { StoragePlace } from '../storage/storage-places.ts';
import type { Member } from './member.ts';
import { namingNode } from './unreachable.ts';

/** The disk of a node; none before it has answered. */
export const toStoragePlace = ({
  name,
  measureFolder,
  images,
}: Pick<Member, 'name' | 'measureFolder' | 'images'>): StoragePlace[] => {
  if (measureFolder === undefined || images === undefined) return [];
  return [
    {
      node: name,
      // A node keeps no layers.
      entries: async (folder) => (folder === 'layers' ? [] : namingNode(name, measureFolder(folder))),
      toFileName: (digest) => basename(images.templates.toPath(digest)),
    },
  ];
};
