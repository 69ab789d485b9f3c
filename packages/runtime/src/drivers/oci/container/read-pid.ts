import { readFileSync } from 'node:fs';
import type { SandboxFolder } from '../folder.ts';

/** The pid of the first process of a run, from the file that the maker of the run wrote. Throws when there is none. */
export const readPid = ({ pidFile }: Pick<SandboxFolder, 'pidFile'>): number =>
  Number(readFileSync(pidFile, 'utf8'));
