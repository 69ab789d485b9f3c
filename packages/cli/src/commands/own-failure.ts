import type { Command } from 'commander';
import { OWN_FAILURE } from '../exit-status.ts';

/**
 * Makes a command that passes on the status of a program end with 125 when skerry itself fails: a status of 1 or 2 would be taken
 * for the program's.
 */
export const withOwnFailureStatus = (command: Command): Command =>
  command
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : OWN_FAILURE))
    .hook('preAction', () => {
      process.exitCode = OWN_FAILURE;
    });
