import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPostgres } from '@skerry/platform/postgres-server';
import { nodes, Sandbox, type SandboxOptions } from '@skerry/sdk';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fetchByHost, type HostAnswer, type HostRequest } from '../../stack/fetch-by-host.ts';
import type { Cluster, Replica } from '../cluster.ts';
import { type Replicas, startReplicas } from '../replicas.ts';
import { createOn } from './counter.ts';

const PORT = 8000;
/** Answers with its process id. */
const program = `import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
  def do_GET(self):
    self.send_response(200); self.end_headers(); self.wfile.write(str(os.getpid()).encode())
http.server.ThreadingHTTPServer.request_queue_size = 100
http.server.ThreadingHTTPServer(("127.0.0.1", ${PORT}), Handler).serve_forever()`;

describe.skipIf(findPostgres() === undefined)('requests through two servers with one blob store', () => {
  let replicas: Replicas;
  let cluster: Cluster;
  const base = mkdtempSync(join(tmpdir(), 'skerry-cluster-blobs-'));
  beforeAll(async () => {
    const serverArgs = ['--node-dead-after', '8s', '--blobs', join(base, 'blobs')];
    replicas = await startReplicas({ nodes: ['a', 'b'], serverArgs });
    ({ cluster } = replicas);
  });
  beforeEach(() => replicas.areShared());
  afterEach(() => cluster.killAll());
  afterAll(async () => {
    await replicas?.close();
    rmSync(base, { recursive: true, force: true });
  });

  /** A sandbox on that node that requests resume, with a program on a port. */
  const createServer = async (node: string, options: SandboxOptions = {}): Promise<Sandbox> => {
    const sandbox = await createOn(cluster, node, { autoResume: true, ...options });
    await sandbox.files.write('/tmp/server.py', program);
    // A client that holds the stream of a command asks after the pause how it ended, and so resumes the sandbox.
    await sandbox.commands.run('setsid python3 /tmp/server.py > /dev/null 2>&1 < /dev/null &');
    const headers = { 'e2b-traffic-access-token': sandbox.trafficAccessToken ?? '' };
    for (const replica of cluster.replicas)
      await expect.poll(async () => (await ask(replica, sandbox, { headers })).status).toBe(200);
    return sandbox;
  };
  /** Sends a request to the program through a server. */
  const ask = (
    { address }: Replica,
    { sandboxId }: Sandbox,
    { path = '/', ...request }: HostRequest & { path?: string } = {},
  ): Promise<HostAnswer> =>
    fetchByHost(`${address.apiUrl}${path}`, { ...request, host: `${PORT}-${sandboxId}.${address.domain}` });
  const askBoth = (sandbox: Sandbox): Promise<HostAnswer[]> =>
    Promise.all(
      Array.from({ length: 20 }, (_, index) => ask(cluster.replicas[index % 2] as Replica, sandbox)),
    );
  const resumes = async ({ sandboxId }: Sandbox): Promise<number> => {
    const { history } = await nodes.explain(sandboxId, cluster.connection);
    return history.filter(({ message }) => message === 'sandbox resumed').length;
  };
  const stateOf = async ({ sandboxId }: Sandbox) => {
    const path = { sandboxID: sandboxId };
    return (await cluster.api.GET('/sandboxes/{sandboxID}', { params: { path } })).data?.state;
  };
  const pauseStored = async (sandbox: Sandbox): Promise<void> => {
    await sandbox.pause();
    const isStored = async () => (await nodes.explain(sandbox.sandboxId, cluster.connection)).stored;
    await expect.poll(isStored).toBe(true);
  };

  it('resume a paused sandbox in one run, and all are served by the process that was paused', async () => {
    const sandbox = await createServer('a');
    const { text: pid } = await ask(cluster.replicas[0] as Replica, sandbox);
    for (const round of [1, 2, 3]) {
      await sandbox.pause();
      for (const { status, text } of await askBoth(sandbox)) expect([status, text]).toEqual([200, pid]);
      expect(await resumes(sandbox)).toBe(round);
    }
    // Each alone, first the one that does not own the node.
    const owner = replicas.ownerOf('a');
    for (const replica of cluster.replicas.toSorted((one) => (one === owner ? 1 : -1))) {
      await sandbox.pause();
      expect((await ask(replica, sandbox)).status).toBe(200);
    }
  });

  it('resume on another node what is stored of a drained one, and of one that is gone', async () => {
    const sandbox = await createServer('b');
    const { text: pid } = await ask(cluster.replicas[0] as Replica, sandbox);
    const expectServed = async (node: string): Promise<void> => {
      for (const { status, text } of await askBoth(sandbox)) expect([status, text]).toEqual([200, pid]);
      expect(await nodes.explain(sandbox.sandboxId, cluster.connection)).toMatchObject({ node });
    };
    await pauseStored(sandbox);
    expect(await cluster.skerry('node', 'drain', 'b')).toContain('nothing is on b');
    await expectServed('a');
    expect(await resumes(sandbox)).toBe(1);
    await cluster.skerry('node', 'uncordon', 'b');
    await pauseStored(sandbox);
    await cluster.node('a').stop('SIGKILL');
    await expect.poll(() => cluster.states()).toMatchObject({ a: 'lost', b: 'ready' });
    await expectServed('b');
    expect(await resumes(sandbox)).toBe(2);
    await cluster.startNode('a');
  });

  it('reach a private port with its token and its link at each, and do not resume it without', async () => {
    const sandbox = await createServer('b', { allowPublicTraffic: false });
    const link = new URL(await sandbox.getPrivateUrl(PORT));
    const headers = { 'e2b-traffic-access-token': sandbox.trafficAccessToken ?? '' };
    const cookies: string[] = [];
    for (const replica of cluster.replicas) {
      await sandbox.pause();
      expect((await ask(replica, sandbox)).status).toBe(403);
      expect((await ask(replica, sandbox, { headers: { 'x-access-token': 'x' } })).status).toBe(403);
      expect(await stateOf(sandbox)).toBe('paused');
      const exchanged = await ask(replica, sandbox, { path: link.pathname + link.search });
      expect(exchanged.status).toBe(303);
      expect(await stateOf(sandbox)).toBe('paused');
      cookies.push(exchanged.headers['set-cookie']?.[0]?.split(';')[0] ?? '');
      expect((await ask(replica, sandbox, { headers })).status).toBe(200);
    }
    for (const replica of cluster.replicas)
      for (const cookie of cookies)
        expect((await ask(replica, sandbox, { headers: { cookie } })).status).toBe(200);
    const elsewhere = await Sandbox.connect(sandbox.sandboxId, (cluster.replicas[1] as Replica).connection);
    expect(elsewhere.trafficAccessToken).toBe(sandbox.trafficAccessToken);
  });
});
