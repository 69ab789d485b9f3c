import { accessSync, constants, globSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { PackageList } from './package-lists.ts';

const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin', '/usr/bin', '/bin'];

/** Whether a program is in a folder of PATH or of the system. */
export function isInstalled(program: string): boolean {
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false; // Not in this folder.
    }
  });
}

/** The packages of a list whose program is not on this host, however that was installed. */
export function findMissing(list: PackageList): string[] {
  return Object.entries(list)
    .filter(
      ([, wanted]) =>
        ![wanted].flat().some((one) => (isAbsolute(one) ? globSync(one).length > 0 : isInstalled(one))),
    )
    .map(([name]) => name);
}
