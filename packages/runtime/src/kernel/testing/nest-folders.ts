import { execFileSync } from 'node:child_process';

const script = `const { mkdirSync } = require('node:fs');
process.chdir(process.argv[1]);
for (let depth = 0; depth < 60; depth++) {
  mkdirSync('n'.repeat(200));
  process.chdir('n'.repeat(200));
}`;

/**
 * Makes 60 folders below `path`, each in the one before, with names of 200 bytes: the path of the last is too long for
 * any call.
 */
export const nestFolders = (path: string): void => {
  execFileSync(process.execPath, ['-e', script, path]);
};
