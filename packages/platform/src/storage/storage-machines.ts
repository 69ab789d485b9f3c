import { basename } from 'node:path';
import type { TemplateImages } from '../images/template-images.ts';
import { measureEntries } from './measure-entries.ts';

/** The folders of this host that are measured. */
export type StorageFolders = Record<StorageFolder, string>;

export type StorageFolder = 'templates' | 'layers' | 'baseImages' | 'snapshots' | 'sandboxes';

/** A machine on which sandboxes, and what they begin with, take space. */
export interface StorageMachine {
  /** Null: this host. */
  node: string | null;
  /** The names in a folder, and the space that each takes. None for a folder that the machine does not have. */
  entries(folder: StorageFolder): Promise<Iterable<[name: string, sizeBytes: number]>>;
  /** How the file of an image of a template is called there. */
  toFileName(digest: string): string | undefined;
}

/** This host. */
export const toOwnMachine = (
  folders: StorageFolders | undefined,
  images: Pick<TemplateImages, 'toPath'> | undefined,
): StorageMachine => ({
  node: null,
  entries: async (folder) => (folders === undefined ? [] : measureEntries(folders[folder])),
  toFileName: (digest) => images && basename(images.toPath(digest)),
});
