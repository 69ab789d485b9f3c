import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox, storage } from '@skerry/sdk';
import { build, Template } from '@skerry/sdk/template';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Cluster, startCluster } from '../cluster.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ nodes: ['a', 'b'] });
});
afterAll(() => cluster?.close());

const create = (template?: string): Promise<Sandbox> =>
  Sandbox.create({ ...cluster.connection, timeoutMs: 600_000, ...(template && { template }) });

describe('the disks of two nodes', () => {
  it('hold a template where it is built, which is copied to the other when a sandbox needs it there, once', async () => {
    const context = mkdtempSync(join(tmpdir(), 'skerry-context-'));
    onTestFinished(() => rmSync(context, { recursive: true }));
    writeFileSync(join(context, 'note'), 'from a file\n');
    const template = Template()
      .fromTemplate('base')
      .copy('note', '/srv/note')
      .run('cat /srv/note /srv/note > /srv/twice', { user: 'root' });
    await build(template, 'built', { ...cluster.connection, context }).result();
    const images = (): number[] =>
      ['a', 'b'].map((name) => {
        const folder = join(cluster.nodeFolder(name), 'templates');
        return existsSync(folder) ? readdirSync(folder).length : 0;
      });
    expect(images()).toEqual([1, 0]);
    const made = await Promise.all(['built', 'built', 'built', 'built'].map(create));
    const homes = await Promise.all(made.map(({ sandboxId }) => cluster.nodeOf(sandboxId)));
    expect(homes.toSorted()).toEqual(['a', 'a', 'b', 'b']);
    for (const sandbox of made)
      expect(await sandbox.files.read('/srv/twice')).toBe('from a file\nfrom a file\n');
    const copies = (): number => cluster.server().log().split('an image was copied to a node').length - 1;
    expect([images(), copies()]).toEqual([[1, 1], 1]);
    await Promise.all(made.map((sandbox) => sandbox.kill()));

    const { templates, removed } = await storage.prune({ ...cluster.connection, all: true });
    expect(templates).toEqual(['built']);
    for (const node of ['a', 'b'])
      expect(removed).toContainEqual(expect.objectContaining({ kind: 'templates', node, count: 1 }));
    expect(images()).toEqual([0, 0]);
  });

  it('are measured with that of the server', async () => {
    const sandbox = await create();
    const home = await cluster.nodeOf(sandbox.sandboxId);
    const usage = await storage.usage(cluster.connection);
    const places = new Map(usage.map(({ node = 'server', kind, ...rest }) => [`${node} ${kind}`, rest]));
    expect([...places.keys()].slice(0, 5)).toEqual([
      // A server with nodes has only the folders that steps of builds mount as caches.
      'server buildCache',
      'server contexts',
      'server buildLogs',
      'server sandboxLogs',
      'a templates',
    ]);
    for (const node of ['a', 'b']) {
      expect(places.get(`${node} sandboxes`)?.count).toBe(node === home ? 1 : 0);
      expect(places.get(`${node} baseImages`)?.sizeBytes).toBeGreaterThan(2 ** 20);
    }
    expect(places.get(`${home} sandboxes`)?.sizeBytes).toBeGreaterThan(0);
    const table = await cluster.skerry('system', 'df');
    expect(table).toMatch(/^NODE +KIND +COUNT +SIZE +RECLAIMABLE\n- +[^\n]+\n/);
    expect(table).toMatch(new RegExp(`\n${home} +sandboxes +1 +`, 'i'));
    await sandbox.kill();
  });
});
