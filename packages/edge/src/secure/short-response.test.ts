import { afterEach, expect, it } from 'vitest';
import { host, id, net, useLoopback } from '../loopback-client.ts';
import { DATA, END_HEADERS, END_STREAM, HEADERS, RawHttp2, toFields, toFrame } from './testing/raw-http2.ts';
import { certificate, port, useSecureFront } from './testing/secure-client.ts';

useLoopback();
useSecureFront();

let raw: RawHttp2;
afterEach(() => raw.socket.destroy());

/** The frames of the body of one response. */
const ask = async (): Promise<{ size: number; isEnd: boolean }[]> => {
  raw = await RawHttp2.open({ host: '127.0.0.1', port, servername: 'example.test', ca: certificate.cert });
  const fields = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':path', '/'],
    [':authority', host(3000)],
  ] as const;
  raw.send(toFrame(HEADERS, END_HEADERS | END_STREAM, 1, toFields(fields)));
  const ofBody = () => raw.frames.filter(({ type, stream }) => type === DATA && stream === 1);
  await expect.poll(() => ofBody().some(({ flags }) => (flags & END_STREAM) !== 0)).toBe(true);
  return ofBody().map(({ payload, flags }) => ({ size: payload.length, isEnd: (flags & END_STREAM) !== 0 }));
};

it('ends a response of known length with its last bytes, not with a frame of its own', async () => {
  await net.serve(id, 3000, (_request, response) => response.end('hello'));
  expect(await ask()).toEqual([{ size: 5, isEnd: true }]);
});

it('keeps the end of a response in chunks back, behind which trailers may stand', async () => {
  await net.serve(id, 3000, (_request, response) => {
    response.write('hello');
    response.end();
  });
  expect((await ask()).at(-1)).toEqual({ size: 0, isEnd: true });
});
