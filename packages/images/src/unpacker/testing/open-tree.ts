import { join } from 'node:path';
import type { OpenTree } from '../../image-tree.ts';
import { startUnpacker } from '../start-unpacker.ts';

/** The absolute path of an unpacker for tests. */
export const unpackerProgram = join(import.meta.dirname, 'main.ts');

/** Makes trees in processes of their own. */
export const openTree: OpenTree = (options) => startUnpacker({ ...options, program: unpackerProgram });
