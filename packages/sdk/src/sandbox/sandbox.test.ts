import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import vectors from '../../../../specs/vectors/metadata-filters.json' with { type: 'json' };
import { NotFoundError } from '../errors.ts';
import { listen } from '../testing/listen.ts';
import { Sandbox } from './sandbox.ts';
import { toMetadataFilter } from './sandbox-paginator.ts';

interface Answer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}
interface Sent {
  method: string;
  url: string;
  body: unknown;
}

const sandboxID = 'i4k2m9x7q1w8e3r5t6y0z';
const reply = { sandboxID, templateID: 't', clientID: 'c', envdVersion: '0.6.13', envdAccessToken: 'secret' };
const listed = {
  ...reply,
  state: 'running',
  startedAt: '2026-11-20T10:00:00.000Z',
  endAt: '2026-11-20T10:05:00.000Z',
  cpuCount: 2,
  memoryMB: 512,
  diskSizeMB: 1024,
};

async function serve(answer: (request: IncomingMessage, count: number) => Answer) {
  const sent: Sent[] = [];
  const domain = await listen((request, response) => {
    void text(request).then((body) => {
      sent.push({
        method: request.method ?? '',
        url: request.url ?? '',
        body: body ? JSON.parse(body) : undefined,
      });
      const { status, body: answered, headers } = answer(request, sent.length);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(answered === undefined ? undefined : JSON.stringify(answered));
    });
  });
  return { sent, options: { apiKey: 'e2b_00', domain } };
}

it('sends the key that makes a creation safe to repeat', async () => {
  const keys: unknown[] = [];
  const { options } = await serve((request) => {
    keys.push(request.headers['idempotency-key']);
    return { status: 201, body: reply };
  });
  await Sandbox.create({ ...options, idempotencyKey: 'k-1' });
  await Sandbox.create({ ...options, secure: false, idempotencyKey: 'k-2' });
  await Sandbox.create(options);
  expect(keys).toEqual(['k-1', 'k-2', undefined]);
});

it('sends exactly the given options when it creates a sandbox', async () => {
  const { sent, options } = await serve(() => ({ status: 201, body: reply }));
  const sandbox = await Sandbox.create(options);
  await Sandbox.create({
    ...options,
    template: 'py',
    timeoutMs: 1500,
    metadata: { a: 'b' },
    envs: { C: 'd' },
    allowInternetAccess: false,
    network: { allow: ['1.1.1.1'], deny: ['8.8.8.0/24'] },
    allowPublicTraffic: false,
    autoPause: true,
    autoPauseMemory: false,
  });
  expect(sandbox.sandboxId).toBe(sandboxID);
  expect(sent).toEqual([
    { method: 'POST', url: '/v2/sandboxes', body: { templateID: 'base' } },
    {
      method: 'POST',
      url: '/v2/sandboxes',
      body: {
        templateID: 'py',
        timeout: 2,
        metadata: { a: 'b' },
        envVars: { C: 'd' },
        allow_internet_access: false,
        network: { allowOut: ['1.1.1.1'], denyOut: ['8.8.8.0/24'], allowPublicTraffic: false },
        autoPause: true,
        autoPauseMemory: false,
      },
    },
  ]);
});

it('rejects with what the service refuses', async () => {
  const { sent, options } = await serve(() => ({
    status: 400,
    body: { code: 400, message: 'timeout is too long' },
  }));
  await expect(Sandbox.create(options)).rejects.toMatchObject({
    code: 'invalid_argument',
    message: 'timeout is too long',
  });
  expect(sent).toHaveLength(1);
});

it('creates a sandbox without a token on the route of version 1, as version 2 does not', async () => {
  const { sent, options } = await serve(() => ({ status: 201, body: reply }));
  await Sandbox.create({ ...options, secure: false });
  expect(sent).toEqual([
    { method: 'POST', url: '/sandboxes', body: { templateID: 'base', timeout: 300, secure: false } },
  ]);
});

it('returns false when the sandbox to kill is gone, and kills at the end of an "await using" block', async () => {
  const { sent, options } = await serve(({ method }, count) =>
    method === 'DELETE'
      ? { status: count < 3 ? 204 : 404, ...(count < 3 ? {} : { body: { code: 404, message: 'gone' } }) }
      : { status: 201, body: reply },
  );
  {
    await using sandbox = await Sandbox.create(options);
    expect(sandbox.templateId).toBe('t');
  }
  expect(sent[1]).toMatchObject({ method: 'DELETE', url: `/sandboxes/${sandboxID}` });
  expect(await Sandbox.kill(sandboxID, options)).toBe(false);
});

it('pauses with the given options, and distinguishes a paused sandbox from one that is gone', async () => {
  const { sent, options } = await serve(({ url }, count) => {
    if (!url?.endsWith('/pause')) return { status: 201, body: reply };
    if (count < 5) return { status: 204 };
    return { status: count === 5 ? 409 : 404, body: { code: 404, message: 'no' } };
  });
  const sandbox = await Sandbox.create(options);
  await sandbox.pause();
  await sandbox.pause({ memory: false });
  await Sandbox.pause('i1', { ...options, memory: true });
  expect(sent.slice(1).map(({ url, body }) => [url, body])).toEqual([
    [`/sandboxes/${sandboxID}/pause`, {}],
    [`/sandboxes/${sandboxID}/pause`, { memory: false }],
    ['/sandboxes/i1/pause', { memory: true }],
  ]);
  await expect(sandbox.pause()).rejects.toMatchObject({ code: 'conflict' });
  await expect(sandbox.pause()).rejects.toBeInstanceOf(NotFoundError);
  await Sandbox.connect('i1', { ...options, memory: false });
  expect(sent.at(-1)).toEqual({ method: 'POST', url: '/v2/sandboxes/i1/connect', body: { memory: false } });
});

it('throws NotFoundError when it extends a sandbox that is gone', async () => {
  const { sent, options } = await serve((_request, count) =>
    count === 1 ? { status: 201, body: reply } : { status: 404, body: { code: 404, message: 'no sandbox' } },
  );
  const sandbox = await Sandbox.create(options);
  await expect(sandbox.setTimeout(90_500)).rejects.toBeInstanceOf(NotFoundError);
  expect(sent[1]).toEqual({ method: 'POST', url: `/sandboxes/${sandboxID}/timeout`, body: { timeout: 91 } });
});

it('prefers the domain of the reply for host names and signed URLs, and signs the raw path and user', async () => {
  const { options } = await serve(() => ({ status: 201, body: { ...reply, domain: 'localhost:7777' } }));
  const sandbox = await Sandbox.create(options);
  expect(sandbox.getHost(3000)).toBe(`3000-${sandboxID}.localhost:7777`);
  expect(sandbox.getUrl(3000)).toBe(`http://3000-${sandboxID}.localhost:7777`);
  const askedAt = Date.now();
  const url = new URL(await sandbox.downloadUrl('a b/ü.txt', { user: 'root', expiresInMs: 1 }));
  expect(url.host).toBe(`49983-${sandboxID}.localhost:7777`);
  expect(url.searchParams.get('path')).toBe('a b/ü.txt');
  expect(url.searchParams.get('username')).toBe('root');
  expect(url.searchParams.get('signature')).toMatch(/^v1_[\w+/]{43}$/);
  const expiresAt = Number(url.searchParams.get('signature_expiration'));
  expect(expiresAt * 1000).toBeGreaterThan(askedAt);
  expect(expiresAt - Date.now() / 1000).toBeLessThanOrEqual(1.001);
});

it('hides the access token when a sandbox is printed', async () => {
  const { options } = await serve(() => ({ status: 201, body: reply }));
  const { inspect } = await import('node:util');
  const sandbox = await Sandbox.create(options);
  expect(inspect(sandbox, { depth: 10, showHidden: true }) + JSON.stringify(sandbox)).not.toMatch(
    /secret|e2b_00/,
  );
});

it('reads pages until the server names no further page, and sends the filters', async () => {
  const { sent, options } = await serve((_request, count) => ({
    status: 200,
    body: [{ ...listed, sandboxID: `i${count}`, metadata: { n: String(count) } }],
    headers: count < 3 ? { 'x-next-token': `t${count}` } : {},
  }));
  const pages = Sandbox.list({
    ...options,
    state: ['running', 'paused'],
    limit: 1,
    metadata: { 'user id': 'a&b=c/d' },
  });
  expect(pages.hasNext).toBe(true);
  const [first] = await pages.nextItems();
  expect(first).toEqual({
    sandboxId: 'i1',
    templateId: 't',
    state: 'running',
    startedAt: new Date('2026-11-20T10:00:00Z'),
    endAt: new Date('2026-11-20T10:05:00Z'),
    cpuCount: 2,
    memoryMiB: 512,
    diskSizeMiB: 1024,
    metadata: { n: '1' },
    envdVersion: '0.6.13',
  });
  const rest = [];
  for await (const { sandboxId } of pages) rest.push(sandboxId);
  expect(rest).toEqual(['i2', 'i3']);
  expect(pages.hasNext).toBe(false);
  expect(await pages.nextItems()).toEqual([]);
  const filter = 'metadata=user%252520id%3Da%252526b%25253Dc%25252Fd';
  expect(sent.map(({ url }) => url)).toEqual([
    `/v2/sandboxes?${filter}&limit=1&state=running,paused`,
    `/v2/sandboxes?${filter}&limit=1&nextToken=t1&state=running,paused`,
    `/v2/sandboxes?${filter}&limit=1&nextToken=t2&state=running,paused`,
  ]);
});

const twice = vectors.cases.filter(
  ({ title, result }) => title.endsWith('encoded twice') && Array.isArray(result),
);
it.each(twice)('encodes a metadata filter: $title', ({ value, result }) => {
  expect(toMetadataFilter(Object.fromEntries(result as [string, string][]))).toBe(value);
});

it('requests metrics in whole seconds and returns them with units', async () => {
  const sample = {
    timestamp: '2026-11-20T10:00:05.123Z',
    timestampUnix: 1795168805,
    cpuCount: 2,
    cpuUsedPct: 12.5,
    memUsed: 1,
    memTotal: 2,
    memCache: 3,
    diskUsed: 4,
    diskTotal: 5,
  };
  const { sent, options } = await serve(() => ({ status: 200, body: [sample] }));
  const start = new Date('2026-11-20T10:00:00.999Z');
  const [metric] = await Sandbox.getMetrics(sandboxID, { ...options, start });
  expect(sent[0]?.url).toBe(`/sandboxes/${sandboxID}/metrics?start=1795168800`);
  expect(metric).toEqual({
    timestamp: new Date(sample.timestamp),
    cpuCount: 2,
    cpuUsedPct: 12.5,
    memoryUsedBytes: 1,
    memoryTotalBytes: 2,
    memoryCacheBytes: 3,
    diskUsedBytes: 4,
    diskTotalBytes: 5,
  });
});

it('forks copies for as long as the service lets new sandboxes live, unless another time is given', async () => {
  const { sent, options } = await serve(() => ({ status: 201, body: [{ sandbox: reply }] }));
  await Sandbox.fork(sandboxID, options);
  await Sandbox.fork(sandboxID, { ...options, count: 2, timeoutMs: 1_500 });
  expect(sent.map(({ body }) => body)).toEqual([{}, { count: 2, timeout: 2 }]);
});

it('reports a fork that the service does not offer, without a retry', async () => {
  const { sent, options } = await serve(() => ({ status: 501, body: { code: 501, message: 'no' } }));
  await expect(Sandbox.fork(sandboxID, options)).rejects.toMatchObject({ code: 'unimplemented' });
  expect(sent).toHaveLength(1);
});
