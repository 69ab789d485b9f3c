import { join } from 'node:path';
import type { OpenTree } from '../../image-tree.ts';
import { startUnpacker } from '../start-unpacker.ts';

/** For tests: the absolute path of an unpacker. */
export const unpackerProgram = join(import.meta.dirname, 'main.ts');

/** For tests: makes trees in processes of their own. */
export const openTree: OpenTree = (options) => startUnpacker({ ...options, program: unpackerProgram });
