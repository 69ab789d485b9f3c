import { basename } from 'node:path';
import type { StorageMachine } from '../storage/storage-machines.ts';
import type { Member } from './member.ts';
import { namingNode } from './unreachable.ts';

/** The disk of a node; none before it has answered. */
export const toStoragePlace = ({
  name,
  measureFolder,
  images,
}: Pick<Member, 'name' | 'measureFolder' | 'images'>): StorageMachine[] => {
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
