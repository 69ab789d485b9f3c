import { findPostgres } from '@skerry/platform/postgres-server';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { testedClients } from '../../e2b/clients.ts';
import { resolveToLoopback } from '../../e2b/loopback-names.ts';
import { e2bProgram } from '../../e2b/program.ts';
import { startTlsFront, type TlsFront } from '../../e2b/tls-front.ts';
import { startBalancer } from '../balancer.ts';
import { type Replicas, startReplicas } from '../replicas.ts';

// Without builds: the registry of their tests is on the machine of the tests, which the nodes cannot reach.
describe.skipIf(findPostgres() === undefined)('two servers with three nodes, in turn for each call', () => {
  let replicas: Replicas;
  let front: TlsFront;
  const cleanup = new AsyncDisposableStack();
  beforeAll(async () => {
    cleanup.defer(resolveToLoopback('skerry.test'));
    front = await startTlsFront('skerry.test');
    cleanup.defer(() => front.close());
    const balancer = await startBalancer();
    cleanup.defer(() => balancer.close());
    front.forwardTo(Number(new URL(balancer.url).port));
    replicas = await startReplicas({ nodes: ['a', 'b', 'c'], serverArgs: ['--domain', front.domain] });
    cleanup.defer(() => replicas.close());
    balancer.serve(replicas.cluster.replicas.map(({ address }) => address.apiUrl));
  });
  afterAll(() => cleanup.disposeAsync());

  it('share the nodes', () => replicas.areShared());

  describe.each(testedClients)('e2b $version, given E2B_DOMAIN,', (client) => {
    e2bProgram({
      client,
      scheme: 'https',
      environment: () => ({
        E2B_API_KEY: replicas.cluster.address.apiKey,
        E2B_DOMAIN: front.domain,
      }),
      further: {},
    });
  });
});
