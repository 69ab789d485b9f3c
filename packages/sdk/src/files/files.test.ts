import { text } from 'node:stream/consumers';
import { Code, ConnectError } from '@connectrpc/connect';
import { EventType, Filesystem, FileType } from '@skerry/envd-client/filesystem';
import { expect, it } from 'vitest';
import { NotFoundError, SandboxUnavailableError } from '../errors.ts';
import { serveAgent } from '../testing/serve-agent.ts';
import type { FileData } from './file-transfer.ts';
import { Files } from './files.ts';

const event = (name: string, type: EventType) => ({
  event: { case: 'filesystem' as const, value: { name, type } },
});
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));

it('reads as text, bytes, blob and stream, as the given user', async () => {
  const { agent, seen } = await serveAgent(
    () => {},
    (_request, response) => void response.writeHead(200).end('héllo'),
  );
  const files = new Files(agent);
  const bytes = new TextEncoder().encode('héllo');
  expect(await files.read('a b')).toBe('héllo');
  expect(await files.read('a b', { format: 'bytes', user: 'root' })).toEqual(bytes);
  expect(await (await files.read('a b', { format: 'blob' })).text()).toBe('héllo');
  expect(await new Response(await files.read('a b', { format: 'stream' })).text()).toBe('héllo');
  expect(seen.map(({ url }) => url).slice(0, 2)).toEqual([
    '/files?path=a%20b',
    '/files?path=a%20b&username=root',
  ]);
  expect(seen[0]?.headers).toMatchObject({
    'x-access-token': 'secret',
    'e2b-sandbox-port': '49983',
    'accept-encoding': 'identity',
  });
});

it('reads an empty file in every format', async () => {
  const { agent } = await serveAgent(
    () => {},
    (_request, response) => void response.writeHead(200, { 'content-length': '0' }).end(),
  );
  const files = new Files(agent);
  expect(await files.read('a')).toBe('');
  expect(await files.read('a', { format: 'bytes' })).toHaveLength(0);
  expect((await files.read('a', { format: 'blob' })).size).toBe(0);
  expect(await new Response(await files.read('a', { format: 'stream' })).text()).toBe('');
});

it('delivers a stream before the file is complete, however long the reader takes', async () => {
  let finish = (): void => {};
  const { agent } = await serveAgent(
    () => {},
    (_request, response) => {
      response.writeHead(200);
      response.write('one');
      finish = () => void response.end('two');
    },
  );
  const stream = await new Files(agent).read('a', { format: 'stream', requestTimeoutMs: 1_500 });
  const reader = stream.getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('one');
  await new Promise((resolve) => setTimeout(resolve, 1_600));
  finish();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('two');
});

it.each<[string, () => FileData]>([
  ['text', () => 'dätä'],
  ['bytes', () => new TextEncoder().encode('dätä')],
  ['a buffer', () => new TextEncoder().encode('dätä').buffer as ArrayBuffer],
  ['a blob', () => new Blob(['dätä'], { type: 'text/plain' })],
  ['a stream', () => new Blob(['dätä']).stream()],
])('writes %s unchanged', async (_title, data) => {
  const bodies: string[] = [];
  const { agent, seen } = await serveAgent(
    () => {},
    (request, response) => {
      void text(request).then((body) => {
        bodies.push(body);
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end('[{"path":"/home/user/a","name":"a","type":"file","metadata":{"k":"v"}}]');
      });
    },
  );
  const info = await new Files(agent).write('a', data(), { metadata: { k: 'v' } });
  expect(info).toEqual({ path: '/home/user/a', name: 'a', metadata: { k: 'v' } });
  expect(bodies).toEqual(['dätä']);
  expect(seen[0]?.headers).toMatchObject({ 'content-type': 'application/octet-stream', 'x-metadata-k': 'v' });
});

it('writes several files and returns the results in their order', async () => {
  const { agent, seen } = await serveAgent(
    () => {},
    (request, response) => {
      const path = new URL(request.url ?? '', 'http://a').searchParams.get('path') ?? '';
      const delayMs = path === 'f0' ? 40 : 0;
      request.resume().on('end', () => {
        setTimeout(() => {
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify([{ path: `/home/user/${path}`, name: path, type: 'file' }]));
        }, delayMs);
      });
    },
  );
  const entries = Array.from({ length: 6 }, (_, n) => ({ path: `f${n}`, data: String(n) }));
  const written = await new Files(agent).write(entries);
  expect(written.map(({ name }) => name)).toEqual(['f0', 'f1', 'f2', 'f3', 'f4', 'f5']);
  expect(seen).toHaveLength(6);
});

it.each([
  [404, { code: 404, message: 'no such file' }, 'not_found'],
  [507, { code: 507, message: 'disk is full' }, 'insufficient_storage'],
  [502, { code: 502, message: 'The sandbox was not found', sandboxId: 'i1' }, 'sandbox_unavailable'],
])('maps HTTP %d of a transfer', async (status, body, code) => {
  const { agent } = await serveAgent(
    () => {},
    (request, response) => {
      request.resume().on('end', () => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
    },
  );
  const files = new Files(agent);
  await expect(files.read('a')).rejects.toMatchObject({ code, message: body.message });
  await expect(files.write('a', 'b')).rejects.toMatchObject({ code, message: body.message });
});

it('maps entries, and distinguishes existing from missing paths', async () => {
  const { agent } = await serveAgent((router) => {
    router.service(Filesystem, {
      listDir: ({ depth }) => ({
        entries: [
          {
            name: 'a',
            path: '/a',
            type: FileType.FILE,
            size: 5n,
            mode: 0o644,
            permissions: '-rw-r--r--',
            owner: 'user',
            group: 'user',
            modifiedTime: { seconds: 10n, nanos: 5_600_000 },
            metadata: { depth: String(depth) },
          },
          { name: 'l', path: '/l', symlinkTarget: '/l' },
        ],
      }),
      stat: ({ path }) => {
        if (path === 'missing') throw new ConnectError('missing', Code.NotFound);
        if (path === 'secret') throw new ConnectError('no', Code.Unauthenticated);
        return { entry: { name: path, type: FileType.DIRECTORY } };
      },
      makeDir: ({ path }) => {
        if (path === 'there') throw new ConnectError('there', Code.AlreadyExists);
        return {};
      },
    });
  });
  const files = new Files(agent);
  expect(await files.list('/', { depth: 2 })).toEqual([
    {
      name: 'a',
      path: '/a',
      type: 'file',
      sizeBytes: 5,
      mode: 0o644,
      permissions: '-rw-r--r--',
      owner: 'user',
      group: 'user',
      modifiedAt: new Date(10_005),
      metadata: { depth: '2' },
    },
    expect.objectContaining({ name: 'l', type: 'other', symlinkTarget: '/l' }),
  ]);
  expect(await files.getInfo('d')).toMatchObject({ name: 'd', type: 'directory' });
  expect(await files.exists('d')).toBe(true);
  expect(await files.exists('missing')).toBe(false);
  await expect(files.exists('secret')).rejects.toMatchObject({ code: 'unauthenticated' });
  await expect(files.getInfo('missing')).rejects.toBeInstanceOf(NotFoundError);
  expect(await files.makeDir('new')).toBe(true);
  expect(await files.makeDir('there')).toBe(false);
});

it('watches by iteration, and ends the call in the sandbox when the loop is left', async () => {
  let ended = (): void => {};
  const serverEnd = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const { agent, seen } = await serveAgent((router) => {
    router.service(Filesystem, {
      async *watchDir(_request, { signal }) {
        yield { event: { case: 'start', value: {} } };
        yield event('a', EventType.CREATE);
        yield { event: { case: 'keepalive', value: {} } };
        yield event('a', EventType.WRITE);
        await aborted(signal);
        ended();
      },
    });
  });
  const events = [];
  for await (const { name, type } of await new Files(agent).watchDir('d', { recursive: true })) {
    events.push(`${type} ${name}`);
    if (events.length === 2) break;
  }
  expect(events).toEqual(['create a', 'write a']);
  await serverEnd;
  expect(seen[0]?.headers).not.toHaveProperty('connect-timeout-ms');
});

it('calls the listener with each event and, after a stop, the exit without an error', async () => {
  const { agent } = await serveAgent((router) => {
    router.service(Filesystem, {
      async *watchDir(_request, { signal }) {
        yield { event: { case: 'start', value: {} } };
        yield event('a', EventType.RENAME);
        yield event('b', EventType.CREATE);
        await aborted(signal);
      },
    });
  });
  const events: string[] = [];
  let arrived = (): void => {};
  const both = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  let exited = (_error?: unknown): void => {};
  const exit = new Promise<unknown>((resolve) => {
    exited = resolve;
  });
  const handle = await new Files(agent).watchDir('d', {
    onEvent({ name, type }) {
      events.push(`${type} ${name}`);
      if (events.length === 2) arrived();
    },
    onExit: (error) => exited(error),
  });
  await both;
  handle.stop();
  expect(await exit).toBeUndefined();
  expect(events).toEqual(['rename a', 'create b']);
});

it('ends a watch with an error when the sandbox has ended', async () => {
  const served = await serveAgent(
    (router) => {
      router.service(Filesystem, {
        async *watchDir(_request, { signal }) {
          yield { event: { case: 'start', value: {} } };
          setTimeout(() => served.seen[0]?.socket.destroy(), 50);
          await aborted(signal);
        },
      });
    },
    (_request, response) => void response.writeHead(502).end(),
  );
  const handle = await new Files(served.agent).watchDir('d');
  await expect(handle[Symbol.asyncIterator]().next()).rejects.toBeInstanceOf(SandboxUnavailableError);
});

it('joins files as the given user', async () => {
  const bodies: Promise<string>[] = [];
  const { agent, seen } = await serveAgent(
    () => {},
    (request, response) => {
      bodies.push(text(request));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"path":"/home/user/all","name":"all","type":"file"}');
    },
  );
  const files = new Files(agent);
  const joined = { path: '/home/user/all', name: 'all' };
  expect(await files.compose(['b', 'a'], 'all', { user: 'root' })).toEqual(joined);
  expect(await files.compose(['a'], 'all')).toEqual(joined);
  expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual(Array(2).fill('POST /files/compose'));
  expect(await Promise.all(bodies)).toEqual([
    '{"source_paths":["b","a"],"destination":"all","username":"root"}',
    '{"source_paths":["a"],"destination":"all"}',
  ]);
});

it('names the missing source when it joins files', async () => {
  const { agent } = await serveAgent(
    () => {},
    (_request, response) =>
      void response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"code":404,"message":"file \\"/a\\" not found"}'),
  );
  const joining = new Files(agent).compose(['/a'], 'all');
  await expect(joining).rejects.toThrow(NotFoundError);
  await expect(joining).rejects.toThrow('file "/a" not found');
});
