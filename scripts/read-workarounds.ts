import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Returns the source of each file in a folder `workarounds/`, tests left out, by its path from the root of the repository. */
export function readWorkarounds(): Map<string, string> {
  const list = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*/workarounds/*.ts'], {
    encoding: 'utf8',
  });
  const paths = list.split('\n').filter((path) => path !== '' && !path.endsWith('.test.ts'));
  return new Map(paths.toSorted().map((path) => [path, readFileSync(path, 'utf8')]));
}
