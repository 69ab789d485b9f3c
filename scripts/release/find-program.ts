import { run } from './run.ts';

/** The first of these programs that is installed; undefined when none is. */
export function findProgram(names: readonly string[]): string | undefined {
  for (const name of names) {
    try {
      return run('sh', ['-c', `command -v ${name}`], { cwd: '/' }).trim();
    } catch {
      // Not installed: the next name.
    }
  }
  return undefined;
}
