import { readFile } from 'node:fs/promises';
import type { SandboxFolder } from '../folder.ts';

/** The pid of the first process of a run, from the file that the maker of the run wrote. Rejects when there is none. */
export const readPid = async ({ pidFile }: Pick<SandboxFolder, 'pidFile'>): Promise<number> =>
  Number(await readFile(pidFile, 'utf8'));
