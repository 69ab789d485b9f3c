import { once } from 'node:events';
import { type IncomingMessage, request as openRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { ApiError, toApiError, toErrorBody } from '@skerry/contract/error';
import { setTracer } from '@skerry/contract/tracing';
import { type FastifyInstance, fastify } from 'fastify';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { ElsewhereError } from '../hosts/elsewhere.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { type Call, forwardCalls } from './forward-calls.ts';
import { UnreachablePeerError } from './unreachable-peer.ts';

const { clock, advance } = createManualClock();
const servers: FastifyInstance[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const peerHeader = 'from-peer';

/** A server over plain HTTP, whose peers send that header. Resolves with its `host:port`. */
const serve = async (name: string, locate: (call: Call) => Promise<string | undefined>): Promise<string> => {
  const server = fastify({ forceCloseConnections: true });
  servers.push(server);
  const { redirect } = forwardCalls(server, {
    clock,
    locate,
    peers: {
      isFromPeer: ({ headers }) => peerHeader in headers,
      send: async (address, { method, path, headers, body }, signal) => {
        const request = openRequest(`http://${address}${path}`, {
          ...{ method, signal },
          headers: { ...headers, [peerHeader]: name },
        });
        if (body instanceof Readable) body.pipe(request);
        else request.end(body);
        try {
          const [response] = await once(request, 'response');
          return response as IncomingMessage;
        } catch (cause) {
          throw (cause as { code?: string }).code === 'ECONNREFUSED'
            ? new UnreachablePeerError({ cause: cause as Error })
            : cause;
        }
      },
    },
  });
  server.setErrorHandler(async (error, request, reply) => {
    const moved = redirect(error, request, reply);
    if (moved) return moved;
    const { status, headers } = toApiError(error);
    return reply.code(status).headers(headers).send(toErrorBody(error));
  });
  server.addContentTypeParser('application/x-tar', (_request, body, done) => done(null, body));
  server.post('/sandboxes/:sandboxID/call', async ({ body, headers }, reply) =>
    reply
      .code(201)
      .header('x-made-by', name)
      .send({ body, host: headers.host, traceparent: headers.traceparent }),
  );
  server.post('/sandboxes', async ({ headers }) => {
    if (!(peerHeader in headers)) throw new ElsewhereError(other);
    return { madeBy: name };
  });
  server.put('/upload', async ({ body }) => {
    let sizeBytes = 0;
    for await (const chunk of body as AsyncIterable<Uint8Array>) sizeBytes += chunk.length;
    return { madeBy: name, sizeBytes };
  });
  server.delete('/sandboxes/:sandboxID', async (_request, reply) => reply.code(204).send());
  server.get('/sandboxes/:sandboxID/logs', async () => ({ madeBy: name }));
  server.post('/sandboxes/:sandboxID/hang', () => new Promise(() => undefined));
  await server.listen({ host: '127.0.0.1', port: 0 });
  return `127.0.0.1:${(server.server.address() as AddressInfo).port}`;
};

let other: string;
/** The first of two servers, the other of which owns everything. */
const serveTwo = async (locate: (call: Call) => Promise<string | undefined>): Promise<string> => {
  other = await serve('other', async () => undefined);
  return `http://${await serve('first', locate)}`;
};
const post = (url: string, body: object) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

it('makes a call at its owner with the path, headers and body, and returns what that answers', async () => {
  const calls: Call[] = [];
  const first = await serveTwo(async (call) => {
    calls.push(call);
    return other;
  });
  const made = await post(`${first}/sandboxes/i1/call?a=b`, { text: 'ä' });
  expect([made.status, made.headers.get('x-made-by')]).toEqual([201, 'other']);
  expect(await made.json()).toEqual({ body: { text: 'ä' }, host: new URL(first).host });
  const pattern = '/sandboxes/:sandboxID/call';
  expect(calls).toEqual([{ method: 'POST', pattern, params: { sandboxID: 'i1' }, query: { a: 'b' } }]);
  expect((await fetch(`${first}/sandboxes/i1`, { method: 'DELETE' })).status).toBe(204);
  expect((await fetch(`${first}/none`)).status).toBe(404);
});

it('continues the trace of a call at the other server', async () => {
  let ended = 0;
  const end = (): void => {
    ended += 1;
  };
  const span = { traceparent: 'of-the-call', add: () => {}, end };
  const direct = { inRequest: <T>(_: unknown, __: string, handle: () => T) => handle() };
  setTracer({ ...direct, beginFor: () => span, begin: () => undefined, inSpan: (_, work) => work() });
  onTestFinished(() => setTracer(undefined));
  const first = await serveTwo(async () => other);
  const made = await post(`${first}/sandboxes/i1/call`, {});
  expect([((await made.json()) as { traceparent: string }).traceparent, ended]).toEqual(['of-the-call', 1]);
});

it('passes a body that is no JSON as it arrives', async () => {
  const first = await serveTwo(async () => other);
  const uploaded = await fetch(`${first}/upload`, {
    method: 'PUT',
    headers: { 'content-type': 'application/x-tar' },
    body: new Uint8Array(5 * 2 ** 20),
  });
  expect(await uploaded.json()).toEqual({ madeBy: 'other', sizeBytes: 5 * 2 ** 20 });
});

it('makes a call elsewhere when its handler says so, and once', async () => {
  const first = await serveTwo(async () => undefined);
  expect(await (await post(`${first}/sandboxes`, {})).json()).toEqual({ madeBy: 'other' });
});

it('answers here what other servers send, what has no owner, and what can be read while the owner is away', async () => {
  const first = await serveTwo(async ({ params }) => {
    if (params.sandboxID === 'here') return undefined;
    if (params.sandboxID === 'none') throw new ApiError('unavailable', 'no server has it');
    return '127.0.0.1:1';
  });
  const read = async (id: string, headers = {}) =>
    (await fetch(`${first}/sandboxes/${id}/logs`, { headers })).json();
  for (const id of ['here', 'none', 'away']) expect(await read(id)).toEqual({ madeBy: 'first' });
  expect(await read('away', { [peerHeader]: 'other' })).toEqual({ madeBy: 'first' });
  for (const id of ['none', 'away']) {
    const refused = await post(`${first}/sandboxes/${id}/call`, {});
    expect(refused.status).toBe(503);
  }
});

it('is "bad_gateway", since the owner may have acted, when that hangs and loses what the call is for', async () => {
  let isOwner = true;
  let looked = 0;
  const first = await serveTwo(async () => {
    looked += 1;
    return isOwner ? other : undefined;
  });
  const hanging = post(`${first}/sandboxes/i1/hang`, {});
  await expect.poll(() => looked).toBe(1);
  await expect
    .poll(() => {
      advance(2_000);
      return looked;
    })
    .toBeGreaterThan(2);
  isOwner = false;
  let answer: Response | undefined;
  void hanging.then((response) => {
    answer = response;
  });
  await expect
    .poll(() => {
      advance(2_000);
      return answer?.status;
    })
    .toBe(502);
  expect(answer?.headers.get('retry-after')).toBe('1');
});
