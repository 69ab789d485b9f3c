import { join } from 'node:path';
import { run } from '../run.ts';

const root = join(import.meta.dirname, '../../..');

/** The newest tag of a version that this checkout is not part of; undefined when there is none, as before the first release. */
export function findLastRelease(): string | undefined {
  const argv = ['tag', '--list', 'v[0-9]*', '--sort=-version:refname', '--no-contains', 'HEAD'];
  return run('git', argv, { cwd: root }).split('\n')[0] || undefined;
}
