import { hasSwift, type SwiftServer, startSwift } from '@skerry/blobs/swift-server';
import { nodes, Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { createOn, expectCounting, startCounter } from '../cluster/long/counter.ts';

describe.skipIf(!hasSwift())('a server with two nodes and a bucket of S3, served by Swift', () => {
  let cluster: Cluster;
  let swift: SwiftServer;
  beforeAll(async () => {
    cluster = await startCluster({ nodes: ['a', 'b'], nodeArgs: ['--base', 'minimal'] });
    // On the machine of the server: the nodes do not reach it.
    swift = await startSwift({
      through: cluster.lab.host('platform').through,
      forward: (port) => cluster.lab.forward('platform', { host: '127.0.0.1', port }),
    });
  });
  afterAll(async () => {
    await cluster?.close();
    await swift?.remove();
  });

  it('starts without an answer of the bucket, stores a pause when it has one, and resumes it on the other node', async () => {
    const { bucket, region, endpoint, credentials } = await swift.createBucket();
    await cluster.server().stop();
    process.env.AWS_ACCESS_KEY_ID = credentials?.accessKeyId;
    process.env.AWS_SECRET_ACCESS_KEY = credentials?.secretAccessKey;
    swift.signal('SIGSTOP');
    await cluster.startServer('--blobs', `s3://${bucket}?region=${region}&endpoint=${endpoint}`);
    expect(cluster.server().log()).toContain('the blob store does not answer');
    await expect.poll(() => cluster.states()).toEqual({ a: 'ready', b: 'ready' });

    const sandbox = await createOn(cluster, 'b');
    const before = await startCounter(sandbox);
    await sandbox.pause();
    const explain = () => nodes.explain(sandbox.sandboxId, cluster.connection);
    expect(await explain()).toMatchObject({ node: 'b', stored: false });
    swift.signal('SIGCONT');
    await expect.poll(async () => (await explain()).stored, { timeout: 120_000 }).toBe(true);

    await cluster.node('b').stop('SIGKILL');
    await expect.poll(() => cluster.states(), { timeout: 60_000 }).toMatchObject({ b: 'unreachable' });
    const moved = await Sandbox.connect(sandbox.sandboxId, cluster.connection);
    await expectCounting(moved, before);
    expect(await explain()).toMatchObject({ node: 'a' });
    expect(cluster.server().log()).not.toContain(credentials?.secretAccessKey);
  });
});
