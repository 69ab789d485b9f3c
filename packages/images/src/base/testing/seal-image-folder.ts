import type { SealImageFolder } from '../../image-file.ts';
import { digestTree } from '../tree-digest.ts';

/** The digest of the tree for tests, without what the runtime adds for times, attributes and durability. */
export const sealImageFolder: SealImageFolder = ({ folder, signal }) => digestTree(folder, { signal });
