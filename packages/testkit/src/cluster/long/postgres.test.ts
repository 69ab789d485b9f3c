import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPostgres, startPostgres } from '@skerry/platform/postgres-server';
import { Sandbox } from '@skerry/sdk';
import { describe, expect, it } from 'vitest';
import { startCluster } from '../cluster.ts';
import { findSecrets } from '../find-secrets.ts';

describe.skipIf(findPostgres() === undefined)('a cluster with --database-file', () => {
  it('keeps its state in PostgreSQL over a kill of the server, and its password from the nodes', async () => {
    const postgres = await startPostgres();
    const folder = mkdtempSync(join(tmpdir(), 'skerry-database-'));
    try {
      const password = 'correct-horse-battery-staple';
      const url = new URL(await postgres.createDatabase());
      url.password = password;
      const file = join(folder, 'url');
      writeFileSync(file, url.href, { mode: 0o600 });
      const cluster = await startCluster({ nodes: ['a', 'b'], serverArgs: ['--database-file', file] });
      try {
        const made = await Promise.all([1, 2, 3].map(() => Sandbox.create(cluster.connection)));
        await made[0]?.pause({ memory: false });
        await cluster.server().stop('SIGKILL');
        await cluster.startServer();
        await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });
        const again = await Promise.all(
          made.map(({ sandboxId }) => Sandbox.connect(sandboxId, cluster.connection)),
        );
        const said = await Promise.all(
          again.map(async (one) => (await one.commands.run('echo here')).stdout),
        );
        expect(said).toEqual(['here\n', 'here\n', 'here\n']);
        const marker = 'skerry://node/';
        const found = await findSecrets(cluster.node('a').pid, {
          folder: cluster.nodeFolder('a'),
          secrets: { password, marker },
        });
        expect(found.marker).not.toEqual([]);
        expect(found.password).toEqual([]);
        await cluster.killAll();
      } finally {
        await cluster.close();
      }
    } finally {
      rmSync(folder, { recursive: true });
      await postgres.remove();
    }
  });
});
