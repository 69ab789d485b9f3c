import { createHash, randomUUID } from 'node:crypto';
import { type IncomingMessage, request as openRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import operations from '@skerry/contract/operations.json' with { type: 'json' };
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';

/** A request that its caller repeats. */
interface Call {
  path: string;
  headers?: Record<string, string>;
  /** JSON, unless it is bytes. */
  body?: object | Buffer;
}

interface Repeat {
  /** Makes what the call is for. */
  prepare: () => Call | Promise<Call>;
  /** The status of the first answer. */
  first: number;
  /** The status of the second answer. Default: that of the first. */
  again?: number;
  /** Whether both have the same body. */
  isSame?: boolean;
}

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ args: ['--max-sandboxes', '200', '--base-memory', '128'] });
});
afterAll(() => stack.down());

const send = async (method: string, { path, headers, body }: Call) => {
  const request = openRequest(new URL(path, stack.address.apiUrl), {
    method,
    headers: toHeaders(headers, body),
  });
  request.end(toBytes(body));
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject);
  });
  const answer = await text(response);
  return { status: response.statusCode ?? 0, body: answer };
};

/** Sends the whole request, and closes the connection before the answer. */
const sendAndLeave = async (method: string, { path, headers, body }: Call): Promise<void> => {
  const { hostname, port, host } = new URL(stack.address.apiUrl);
  const bytes = toBytes(body) ?? Buffer.alloc(0);
  const lines = Object.entries({ host, ...toHeaders(headers, body), 'content-length': String(bytes.length) });
  const head = [`${method} ${path} HTTP/1.1`, ...lines.map((line) => line.join(': ')), '', ''].join('\r\n');
  const socket = connect(Number(port), hostname);
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.write(Buffer.concat([Buffer.from(head), bytes]), () => resolve());
  });
  socket.destroy();
};

const toBytes = (body: Call['body']): Buffer | undefined =>
  body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
const toHeaders = (headers: Call['headers'], body: Call['body']): Record<string, string> => ({
  'x-api-key': stack.address.apiKey,
  ...(body !== undefined && {
    'content-type': 'application/json',
    'content-length': String(toBytes(body)?.length),
  }),
  ...headers,
});

const post = async (path: string, body?: object): Promise<Record<string, string>> => {
  const answer = await send('POST', { path, ...(body && { body }) });
  expect(answer.status, answer.body).toBeLessThan(300);
  return answer.body === '' ? {} : (JSON.parse(answer.body) as Record<string, string>);
};
const keyed = (path: string, body: object): Call => ({
  path,
  body,
  headers: { 'idempotency-key': randomUUID() },
});
const running = async (): Promise<string> => (await stack.createSandbox()).sandboxId;
const paused = async (): Promise<string> => {
  const id = await running();
  await post(`/sandboxes/${id}/pause`, { memory: false });
  return id;
};
/** A call for a new sandbox. */
const of = (make: () => Promise<string>, rest: string, body?: object) => async (): Promise<Call> => ({
  path: `/sandboxes/${await make()}${rest}`,
  ...(body && { body }),
});
const snapshot = async () => post(`/sandboxes/${await running()}/snapshots`, { memory: false });
const encoded = (snapshotID: string | undefined): string => encodeURIComponent(snapshotID ?? '');
const newName = (): string => `repeated-${randomUUID()}`;
const template = async () => post('/v3/templates', { name: newName() });
const build = { fromTemplate: 'base', steps: [] };
const started = async () => {
  const name = newName();
  const { templateID, buildID } = await post('/v3/templates', { name });
  await post(`/v2/templates/${templateID}/builds/${buildID}`, build);
  return { name, templateID, buildID };
};
const built = async () => {
  const made = await started();
  const status = async () =>
    JSON.parse(
      (await send('GET', { path: `/templates/${made.templateID}/builds/${made.buildID}/status` })).body,
    ).status;
  await expect.poll(status, { interval: 200 }).toBe('ready');
  return made;
};
const key = () => post('/api-keys', { name: 'repeated' });
const agentHeaders = async () => {
  const { sandboxId, accessToken } = await stack.createSandbox();
  return {
    'e2b-sandbox-id': sandboxId,
    'e2b-sandbox-port': '49983',
    'x-access-token': accessToken,
  };
};
const octets = { 'content-type': 'application/octet-stream' };
const noNode = (path: string): Repeat => ({ prepare: () => ({ path }), first: 404 });

const create = { templateID: 'base', timeout: 60 };
const repeats: Record<string, Repeat> = {
  'POST /sandboxes': { prepare: () => keyed('/sandboxes', create), first: 201, isSame: true },
  'POST /v2/sandboxes': { prepare: () => keyed('/v2/sandboxes', create), first: 201, isSame: true },
  'DELETE /sandboxes/{sandboxID}': { prepare: of(running, ''), first: 204, again: 404 },
  'POST /sandboxes/{sandboxID}/connect': {
    prepare: of(paused, '/connect', { timeout: 60 }),
    first: 201,
    again: 200,
  },
  'POST /v2/sandboxes/{sandboxID}/connect': {
    prepare: async () => ({ path: `/v2/sandboxes/${await paused()}/connect` }),
    first: 201,
    again: 200,
  },
  'POST /sandboxes/{sandboxID}/timeout': { prepare: of(running, '/timeout', { timeout: 60 }), first: 204 },
  'POST /sandboxes/{sandboxID}/refreshes': {
    prepare: of(running, '/refreshes', { duration: 60 }),
    first: 204,
  },
  'POST /sandboxes/{sandboxID}/resume': { prepare: of(paused, '/resume', {}), first: 201, again: 409 },
  'POST /sandboxes/{sandboxID}/pause': {
    prepare: of(running, '/pause', { memory: false }),
    first: 204,
    again: 409,
  },
  'PUT /sandboxes/{sandboxID}/network': {
    prepare: of(running, '/network', { denyOut: ['1.1.1.1'] }),
    first: 204,
  },
  'POST /sandboxes/{sandboxID}/fork': {
    prepare: async () => keyed(`/sandboxes/${await running()}/fork`, {}),
    first: 201,
    isSame: true,
  },
  'POST /v2/sandboxes/{sandboxID}/fork': {
    prepare: async () => keyed(`/v2/sandboxes/${await running()}/fork`, { memory: false }),
    first: 201,
    isSame: true,
  },
  'POST /sandboxes/{sandboxID}/snapshots': {
    prepare: async () => keyed(`/sandboxes/${await running()}/snapshots`, { memory: false }),
    first: 201,
    isSame: true,
  },
  'POST /api-keys': { prepare: () => ({ path: '/api-keys', body: { name: 'repeated' } }), first: 201 },
  'PATCH /api-keys/{apiKeyID}': {
    prepare: async () => ({ path: `/api-keys/${(await key()).id}`, body: { name: 'renamed' } }),
    first: 200,
  },
  'DELETE /api-keys/{apiKeyID}': {
    prepare: async () => ({ path: `/api-keys/${(await key()).id}` }),
    first: 204,
    again: 404,
  },
  'POST /skerry/v1/snapshots/{snapshotID}/verify': {
    prepare: async () => ({ path: `/skerry/v1/snapshots/${encoded((await snapshot()).snapshotID)}/verify` }),
    first: 200,
    isSame: true,
  },
  'POST /skerry/v1/images': {
    prepare: () => ({
      path: `/skerry/v1/images?name=${newName()}`,
      headers: { 'content-type': 'application/x-tar' },
      body: Buffer.alloc(1024),
    }),
    first: 202,
  },
  'POST /skerry/v1/system/prune': { prepare: () => ({ path: '/skerry/v1/system/prune' }), first: 200 },
  'DELETE /skerry/v1/nodes/{nodeName}': noNode('/skerry/v1/nodes/none'),
  'POST /skerry/v1/nodes/{nodeName}/cordon': noNode('/skerry/v1/nodes/none/cordon'),
  'POST /skerry/v1/nodes/{nodeName}/uncordon': noNode('/skerry/v1/nodes/none/uncordon'),
  'POST /skerry/v1/nodes/{nodeName}/drain': noNode('/skerry/v1/nodes/none/drain'),
  'POST /v3/templates': { prepare: () => ({ path: '/v3/templates', body: { name: newName() } }), first: 202 },
  'POST /v2/templates': {
    prepare: () => ({ path: '/v2/templates', body: { alias: newName() } }),
    first: 202,
  },
  'PATCH /v2/templates/{templateID}': {
    prepare: async () => ({ path: `/v2/templates/${(await template()).templateID}`, body: { public: true } }),
    first: 200,
    isSame: true,
  },
  'PATCH /templates/{templateID}': {
    prepare: async () => ({ path: `/templates/${(await template()).templateID}`, body: { public: true } }),
    first: 200,
    isSame: true,
  },
  'DELETE /templates/{templateID}': {
    prepare: async () => ({ path: `/templates/${(await template()).templateID}` }),
    first: 204,
    again: 404,
  },
  'PUT /skerry/v1/templates/{templateID}/files/{hash}': {
    prepare: async () => {
      const hash = createHash('sha256').update(newName()).digest('hex');
      const path = `/templates/${(await template()).templateID}/files/${hash}`;
      const { url } = JSON.parse((await send('GET', { path })).body) as { url: string };
      const { pathname, search } = new URL(url);
      return { path: `${pathname}${search}`, headers: octets, body: Buffer.alloc(1024) };
    },
    first: 204,
  },
  'POST /v2/templates/{templateID}/builds/{buildID}': {
    prepare: async () => {
      const { templateID, buildID } = await template();
      return { path: `/v2/templates/${templateID}/builds/${buildID}`, body: build };
    },
    first: 202,
    isSame: true,
  },
  'DELETE /skerry/v1/templates/{templateID}/builds/{buildID}': {
    prepare: async () => {
      const { templateID, buildID } = await started();
      return { path: `/skerry/v1/templates/${templateID}/builds/${buildID}` };
    },
    first: 204,
  },
  'POST /templates/tags': {
    prepare: async () => ({
      path: '/templates/tags',
      body: { target: (await built()).name, tags: ['stable'] },
    }),
    first: 201,
    isSame: true,
  },
  'DELETE /templates/tags': {
    prepare: async () => {
      const { name } = await built();
      await post('/templates/tags', { target: name, tags: ['stable'] });
      return { path: '/templates/tags', body: { name, tags: ['stable'] } };
    },
    first: 204,
    again: 404,
  },
  'DELETE /skerry/v1/build-cache': { prepare: () => ({ path: '/skerry/v1/build-cache' }), first: 200 },
  'DELETE /skerry/v1/build-cache/{key}': {
    prepare: () => ({ path: `/skerry/v1/build-cache/${'0'.repeat(32)}` }),
    first: 404,
  },
  'POST /files': {
    prepare: async () => ({
      path: '/files?path=/home/user/a.txt',
      headers: { ...octets, ...(await agentHeaders()) },
      body: Buffer.from('abc'),
    }),
    first: 200,
    isSame: true,
  },
  'POST /files/compose': {
    prepare: async () => {
      const headers = await agentHeaders();
      const part = {
        path: '/files?path=/home/user/a.txt',
        headers: { ...octets, ...headers },
        body: Buffer.from('abc'),
      };
      expect((await send('POST', part)).status).toBe(200);
      const body = { source_paths: ['/home/user/a.txt'], destination: '/home/user/b.txt' };
      return { path: '/files/compose', headers, body };
    },
    first: 200,
    again: 404,
  },
};

const changing = new Set(['post', 'put', 'patch', 'delete']);
const changes = Object.entries(operations.paths).flatMap(([path, item]) =>
  Object.keys(item)
    .filter((method) => changing.has(method))
    .map((method) => `${method.toUpperCase()} ${path}`),
);

describe('each call of the document that changes anything', () => {
  it('is repeated here', () => {
    expect(Object.keys(repeats).toSorted()).toEqual(changes.toSorted());
  });

  it.each(Object.entries(repeats))('%s twice has one effect and the right answers', async (name, repeat) => {
    const { prepare, first, again = first, isSame = false } = repeat;
    const [method = ''] = name.split(' ');
    const call = await prepare();
    const one = await send(method, call);
    const two = await send(method, call);
    expect([one.status, two.status], `${one.body} ${two.body}`).toEqual([first, again]);
    if (isSame) expect(two.body).toBe(one.body);
  });

  it.each(Object.entries(repeats))(
    '%s is right once more after its answer was cut off',
    async (name, repeat) => {
      const { prepare, first, again = first } = repeat;
      const [method = ''] = name.split(' ');
      const call = await prepare();
      await sendAndLeave(method, call);
      // The first call may not have begun, be under way or be over.
      const settled = async (): Promise<number> => {
        const { status, body } = await send(method, call);
        const isUnderWay = status === 409 && /is being|still running/.test(body);
        return isUnderWay ? settled() : status;
      };
      expect([first, again]).toContain(await settled());
      expect((await send(method, call)).status).toBe(again);
    },
  );
});
