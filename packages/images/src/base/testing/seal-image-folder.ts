import type { SealImageFolder } from '../../image-file.ts';
import { digestTree } from '../tree-digest.ts';

/** For tests: the digest of the tree, without what the runtime adds for times, attributes and durability. */
export const sealImageFolder: SealImageFolder = ({ folder, signal }) => digestTree(folder, { signal });
