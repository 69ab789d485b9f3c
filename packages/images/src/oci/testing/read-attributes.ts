import { execFileSync } from 'node:child_process';
import { findProgram } from '../../run-program.ts';

/** The names of the attributes of a file → their values, as getfattr writes them. */
export function readAttributes(path: string): Record<string, string> {
  const output = execFileSync(
    findProgram('getfattr', 'attr'),
    ['--absolute-names', '-m', '-', '-d', '-e', 'base64', '-h', path],
    {
      encoding: 'utf8',
    },
  );
  return Object.fromEntries(
    output
      .split('\n')
      .filter((line) => line.includes('=') && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}
