import { runCommand } from '../kernel/run-command.ts';

/** The space that the files below a path take, on the same file system. Files that disappear meanwhile do not count. */
export const countBytes = async (path: string): Promise<number> => {
  const args = ['--summarize', '--one-file-system', '--block-size=1', path];
  // Exit code 1: a file disappeared while its folder was read.
  return Number.parseInt(await runCommand({ file: 'du', args, exitCodes: [0, 1] }), 10) || 0;
};
