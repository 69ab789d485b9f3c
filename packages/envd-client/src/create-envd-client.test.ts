import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { afterEach, describe, expect, it } from 'vitest';
import { createEnvdClient } from './create-envd-client.ts';
import { Filesystem } from './gen/filesystem/filesystem_pb.ts';
import { Process, type StreamInputRequestSchema } from './gen/process/process_pb.ts';
import { HttpError } from './http-error.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function listen(handler: RequestListener): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function listenConnect(
  routes: (router: ConnectRouter) => void,
  seen: IncomingMessage[] = [],
): Promise<string> {
  const adapter = connectNodeAdapter({ routes });
  return listen((request, response) => {
    seen.push(request);
    adapter(request, response);
  });
}

describe.each(['json', 'binary'] as const)('the %s codec', (codec) => {
  it('delivers a client stream message by message, before the caller has ended it', async () => {
    const received: string[] = [];
    let release = (): void => {};
    const baseUrl = await listenConnect((router) => {
      router.service(Process, {
        async streamInput(messages) {
          for await (const { event } of messages) {
            received.push(
              event.case === 'data' ? String(event.value.input?.input.value) : String(event.case),
            );
            release();
          }
          return {};
        },
      });
    });
    const client = createEnvdClient({ baseUrl, codec });
    const stdin = new Uint8Array([1, 2]);
    const messages: MessageInitShape<typeof StreamInputRequestSchema>[] = [
      { event: { case: 'start', value: {} } },
      { event: { case: 'data', value: { input: { input: { case: 'stdin', value: stdin } } } } },
    ];
    async function* input() {
      for (const message of messages) {
        const arrived = new Promise<void>((resolve) => {
          release = resolve;
        });
        yield message;
        await arrived;
      }
    }
    await client.process.streamInput(input());
    expect(received).toEqual(['start', '1,2']);
  });

  it('yields each message of a server stream when it arrives and ends it when the signal aborts', async () => {
    let ended = (): void => {};
    const serverEnd = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const baseUrl = await listenConnect((router) => {
      router.service(Process, {
        async *start(_request, context) {
          context.signal.addEventListener('abort', () => ended());
          yield { event: { event: { case: 'start', value: { pid: 7 } } } };
          await new Promise<void>((resolve) => context.signal.addEventListener('abort', () => resolve()));
          context.signal.throwIfAborted();
        },
      });
    });
    const controller = new AbortController();
    const events = createEnvdClient({ baseUrl, codec }).process.start({}, { signal: controller.signal });
    const iterator = events[Symbol.asyncIterator]();
    const first = await iterator.next();
    expect(first.value?.event?.event).toMatchObject({ case: 'start', value: { pid: 7 } });
    const rest = iterator.next();
    controller.abort();
    await expect(rest).rejects.toMatchObject({ code: Code.Canceled });
    await serverEnd;
  });

  it('sends the codec, token, protocol version and user with every message', async () => {
    const seen: IncomingMessage[] = [];
    const baseUrl = await listenConnect((router) => {
      router.service(Filesystem, { stat: () => ({}) });
    }, seen);
    const client = createEnvdClient({ baseUrl, codec, accessToken: 'secret', user: 'ünal' });
    await client.filesystem.stat({ path: '/' });
    await client.filesystem.stat({ path: '/' }, { headers: { Authorization: 'Basic cm9vdDo=' } });
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Basic w7xuYWw6', 'Basic cm9vdDo=']);
    expect(seen[0]?.headers).toMatchObject({
      'x-access-token': 'secret',
      'connect-protocol-version': '1',
      'content-type': codec === 'json' ? 'application/json' : 'application/proto',
    });
    expect(seen[0]?.headers).not.toHaveProperty('connect-accept-encoding');
  });
});

it.each(['9007199254740993', 42])('decodes the size %s, whether it is a string or a number', async (size) => {
  const baseUrl = await listen((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ entry: { name: 'a', size, unknownField: 1 } }));
  });
  const { entry } = await createEnvdClient({ baseUrl }).filesystem.stat({ path: 'a' });
  expect(entry?.size).toBe(BigInt(size));
});

it('turns the 502 of a proxy into "unavailable" with its message and status, on unary calls and streams', async () => {
  const body = { sandboxId: 'i1', sandboxID: 'i1', message: 'The sandbox was not found', code: 502 };
  const baseUrl = await listen((_request, response) => {
    response.writeHead(502, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  const client = createEnvdClient({ baseUrl });
  const unary: unknown = await client.filesystem.stat({ path: 'a' }).catch((error: unknown) => error);
  const stream: unknown = await client.process
    .start({})
    [Symbol.asyncIterator]()
    .next()
    .catch((error: unknown) => error);
  for (const error of [unary, stream]) {
    expect(error).toBeInstanceOf(ConnectError);
    expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: body.message });
    expect((error as ConnectError).cause).toEqual(new HttpError(502, body));
    expect((error as ConnectError).cause).toMatchObject({ status: 502, body });
  }
});

it('accepts a compressed response, which Node asks for with every request', async () => {
  const seen: IncomingMessage[] = [];
  const entry = { name: 'a'.repeat(10_000) };
  const baseUrl = await listenConnect((router) => {
    router.service(Filesystem, { stat: () => ({ entry }) });
  }, seen);
  expect((await createEnvdClient({ baseUrl }).filesystem.stat({ path: 'a' })).entry).toMatchObject(entry);
  expect(seen[0]?.headers['accept-encoding']).toContain('gzip');
});

it('keeps the code of a Connect error on a unary call', async () => {
  const baseUrl = await listenConnect((router) => {
    router.service(Filesystem, {
      stat() {
        throw new ConnectError('no such file', Code.NotFound);
      },
    });
  });
  await expect(createEnvdClient({ baseUrl }).filesystem.stat({ path: 'a' })).rejects.toMatchObject({
    code: Code.NotFound,
    rawMessage: 'no such file',
  });
});

it('downloads and uploads streams chunk by chunk', async () => {
  const pieces: string[] = [];
  let answer = (): void => {};
  const baseUrl = await listen((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      response.write('first ');
      answer = () => response.end('second');
      return;
    }
    request.setEncoding('utf8');
    request.on('data', (piece: string) => {
      pieces.push(piece);
      answer();
    });
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify([{ path: '/a', name: 'a', type: 'file' }]));
    });
  });
  const { files } = createEnvdClient({ baseUrl });

  const download = await files.GET('/files', { params: { query: { path: 'a' } }, parseAs: 'stream' });
  const reader = download.data?.getReader();
  const decoder = new TextDecoder();
  expect(decoder.decode((await reader?.read())?.value)).toBe('first ');
  answer();
  expect(decoder.decode((await reader?.read())?.value)).toBe('second');

  const source = new TransformStream<string, Uint8Array>({
    transform: (text, controller) => controller.enqueue(new TextEncoder().encode(text)),
  });
  const writer = source.writable.getWriter();
  const upload = files.POST('/files', {
    params: { query: { path: 'a' } },
    body: source.readable as never,
    bodySerializer: (body: unknown) => body as BodyInit,
    headers: { 'Content-Type': 'application/octet-stream' },
    ...{ duplex: 'half' },
  });
  const arrived = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await writer.write('one');
  await arrived;
  expect(pieces).toEqual(['one']);
  await writer.close();
  expect((await upload).data).toEqual([{ path: '/a', name: 'a', type: 'file' }]);
});

it('follows no redirect, and names its address', async () => {
  const calls: (string | undefined)[] = [];
  const elsewhere = await listen((request, response) => {
    calls.push(request.url);
    response.end('{}');
  });
  const baseUrl = await listen((request, response) => {
    request.resume();
    response.writeHead(302, { location: elsewhere, 'content-type': 'application/json' });
    response.end('{"code":"not_found","message":"moved"}');
  });
  const { files, filesystem } = createEnvdClient({ baseUrl, accessToken: 'secret' });
  const { data, response } = await files.GET('/files', { params: { query: { path: 'a' } } });
  expect([data, response.status, response.headers.get('location')]).toEqual([undefined, 302, elsewhere]);
  const error: unknown = await filesystem.stat({ path: 'a' }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: Code.Unknown,
    rawMessage: `HTTP 302: a redirect to ${elsewhere}, which is not followed`,
    cause: { status: 302, location: elsewhere },
  });
  expect(calls).toEqual([]);
});
