import { accessSync, constants } from 'node:fs';

/** The folders in which programs of the host are looked up, whatever PATH this process has. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Returns the path of a program in the system's folders, or undefined when none has it. */
export const findProgram = (name: string): string | undefined =>
  systemPath
    .split(':')
    .map((folder) => `${folder}/${name}`)
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        // Missing in this folder, or not executable: the next one may have it.
        return false;
      }
    });
