import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPostgres } from '@skerry/platform/postgres-server';
import { nodes, Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Replica } from './cluster.ts';
import { insist, type Replicas, startReplicas } from './replicas.ts';

// What fails and how is in `long/`.
describe.skipIf(findPostgres() === undefined)('a cluster with --database-file and two servers', () => {
  let replicas: Replicas;
  const base = mkdtempSync(join(tmpdir(), 'skerry-cluster-blobs-'));
  const blobs = join(base, 'blobs');
  beforeAll(async () => {
    const serverArgs = ['--max-sandboxes', '4', '--blobs', blobs];
    replicas = await startReplicas({ nodes: ['a', 'b'], serverArgs });
  });
  afterAll(async () => {
    await replicas?.close();
    rmSync(base, { recursive: true, force: true });
  });

  it('reaches each sandbox through each server, keeps to its limit, and goes on without the one that is killed', async () => {
    const { cluster } = replicas;
    const [one, two] = cluster.replicas as [Replica, Replica];
    await replicas.areShared();
    const [a, b] = [replicas.ownerOf('a'), replicas.ownerOf('b')];
    expect((await nodes.list(two.connection)).map(({ owner }) => owner)).toEqual([
      { address: a.peerAddress, leaseAgeMs: expect.any(Number) },
      { address: b.peerAddress, leaseAgeMs: expect.any(Number) },
    ]);
    expect(await cluster.skerry('node', 'ls')).toContain(b.peerAddress);

    const asked = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) =>
        Sandbox.create({ ...(index % 2 ? one : two).connection, timeoutMs: 600_000 }),
      ),
    );
    const made = asked.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(made).toHaveLength(4);
    const homes = await Promise.all(made.map(({ sandboxId }) => cluster.nodeOf(sandboxId)));
    expect(new Set(homes)).toEqual(new Set(['a', 'b']));
    const sandbox = made[homes.indexOf('a')] as Sandbox;
    const far = await Sandbox.connect(sandbox.sandboxId, b.connection);
    await far.files.write('/home/user/note', 'kept');
    await far.pause();
    const isStored = async () => (await nodes.explain(sandbox.sandboxId, b.connection)).stored;
    await expect.poll(isStored).toBe(true);
    const near = await Sandbox.connect(sandbox.sandboxId, a.connection);
    expect(await near.files.read('/home/user/note')).toBe('kept');

    const lines: string[] = [];
    await far.commands.run('i=0; while true; do i=$((i+1)); echo $i; sleep 0.1; done', {
      background: true,
      onStdout: (text) => void lines.push(...text.trim().split('\n')),
    });
    await expect.poll(() => lines.length).toBeGreaterThan(3);
    await a.service().stop('SIGKILL');
    const since = performance.now();
    await insist(() => far.setTimeout(900_000));
    expect(performance.now() - since).toBeLessThan(15_000);
    const before = lines.length;
    await expect.poll(() => lines.length).toBeGreaterThan(before + 5);
    expect(lines).toEqual(lines.map((_, index) => String(index + 1)));
    for (const { sandboxId } of made) await insist(() => Sandbox.kill(sandboxId, b.connection));
    await expect.poll(() => replicas.onNodes()).toEqual([]);
    // The copy of the pause was removed by the server that builds templates.
    await expect.poll(() => readdirSync(blobs)).toEqual(['installation']);
  });
});
