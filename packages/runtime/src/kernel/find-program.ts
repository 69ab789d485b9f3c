import { accessSync, constants } from 'node:fs';
import { systemPath } from './run-command.ts';

/** The path of a program that the host has in a folder of the system; undefined when it has none. */
export const findProgram = (name: string): string | undefined =>
  systemPath
    .split(':')
    .map((folder) => `${folder}/${name}`)
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        // Not in this folder, or not ours to run: the next may have it.
        return false;
      }
    });
