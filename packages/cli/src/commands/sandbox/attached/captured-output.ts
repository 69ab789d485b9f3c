import { Option } from 'commander';
import type { AttachedOptions } from './run-attached.ts';

/** `--json` of a command that passes on the output of a program. */
export const jsonOption = (): Option =>
  new Option(
    '--json',
    'one JSON object when it has ended, with its exit status and output as text; not with --tty',
  ).conflicts('tty');

/** Keeps the output of a command in memory. `read` returns it as text, in which bytes that are not UTF-8 are replaced. */
export function captureOutput(): Required<Pick<AttachedOptions, 'onStdout' | 'onStderr'>> & {
  read(): { stdout: string; stderr: string };
} {
  const stdout: Uint8Array[] = [];
  const stderr: Uint8Array[] = [];
  return {
    onStdout: (bytes) => void stdout.push(bytes),
    onStderr: (bytes) => void stderr.push(bytes),
    read: () => ({
      stdout: Buffer.concat(stdout).toString('utf8'),
      stderr: Buffer.concat(stderr).toString('utf8'),
    }),
  };
}
