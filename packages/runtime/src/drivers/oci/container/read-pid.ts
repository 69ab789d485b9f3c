import { readFile } from 'node:fs/promises';
import type { SandboxFolder } from '../folder.ts';

/** The pid of the first process of a run, which whoever made the run has written down. Rejects when nobody has. */
export const readPid = async ({ pidFile }: Pick<SandboxFolder, 'pidFile'>): Promise<number> =>
  Number(await readFile(pidFile, 'utf8'));
