import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../cluster.ts';
import { findSecrets } from '../find-secrets.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ nodes: ['a'] });
});
afterAll(() => cluster?.close());

it('a node gets no key of the API and no secret of the server', async () => {
  const sandbox = await Sandbox.create(cluster.connection);
  const home = await cluster.nodeOf(sandbox.sandboxId);
  await sandbox.commands.run('true');
  const secrets = {
    apiKey: cluster.address.apiKey,
    secret: readFileSync(join(cluster.serverFolder, 'secret'), 'utf8').trim(),
  };
  // A search that misses the certificate of the node proves nothing.
  const marker = 'skerry://node/';
  const found = await findSecrets(cluster.node(home).pid, {
    folder: cluster.nodeFolder(home),
    secrets: { ...secrets, marker },
  });
  expect(found.marker).not.toEqual([]);
  expect({ ...found, marker: [] }).toEqual({ apiKey: [], secret: [], marker: [] });
  await sandbox.kill();
});
