import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../run.ts';
import type { Step } from '../run-steps.ts';
import type { Installed } from './install-packages.ts';

const root = join(import.meta.dirname, '../../..');
const program = join(root, 'packages/testkit/src/cluster/upgrade/main.ts');
const postgres = '/usr/lib/postgresql';

/**
 * Replaces nodes and servers of a cluster of one revision by those of another, one after the other, in both orders. Only for revisions in which
 * several servers can share a database.
 */
export async function upgradeCluster(step: Step, before: Installed, now: Installed): Promise<void> {
  if (!run(before.skerry, ['server', '--help'], { cwd: root }).includes('--peer-listen')) {
    console.log(`     ${before.name} does not have: several servers`);
    return;
  }
  for (const first of ['nodes', 'servers']) {
    await step(`a cluster of ${before.name} becomes one of ${now.name}, ${first} first`, () => {
      if (!existsSync(postgres)) return { skipped: 'PostgreSQL is not installed' };
      const versions = ['--before', before.skerry, '--now', now.skerry];
      return run('node', [program, ...versions, '--first', first], { cwd: root });
    });
  }
}
