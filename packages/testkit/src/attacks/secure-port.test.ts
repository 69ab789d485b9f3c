import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  HEADERS,
  RawHttp2,
  RST_STREAM,
  toFields,
  toFrame,
} from '@skerry/edge/raw-http2';
import { afterAll, beforeAll, expect } from 'vitest';
import { makeTrustedCertificate, type TrustedCertificate } from '../secure/trusted-certificate.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { attackFromOutside } from './attack.ts';

let certificate: TrustedCertificate;
let stack: Stack;
beforeAll(async () => {
  certificate = makeTrustedCertificate('localhost');
  stack = await startStack({
    args: [...certificate.args, '--http-redirect', '0', '--log-level', 'info', '--no-memory'],
  });
});
afterAll(async () => {
  await stack.down();
  certificate[Symbol.dispose]();
});

const toPort = (): number => Number(new URL(stack.address.apiUrl).port);
const open = (): Promise<RawHttp2> =>
  RawHttp2.open({ host: 'localhost', port: toPort(), servername: 'localhost' });
const toHead = (method: string): (readonly [string, string])[] => [
  [':method', method],
  [':scheme', 'https'],
  [':path', '/v2/sandboxes'],
  [':authority', `localhost:${toPort()}`],
  ['x-api-key', stack.address.apiKey],
];
const expectService = async (): Promise<void> =>
  expect((await stack.api.GET('/v2/sandboxes')).response.status).toBe(200);

attackFromOutside(
  'hiding a request in the body of one of HTTP/2',
  'a stream ends when its body is not as long as announced, and so does one with fields of HTTP/1',
  async () => {
    const hidden = Buffer.from('DELETE /sandboxes/i HTTP/1.1\r\nHost: localhost\r\n\r\n');
    for (const field of [
      ['content-length', '2'],
      ['transfer-encoding', 'chunked'],
    ] as const) {
      const raw = await open();
      raw.send(
        toFrame(HEADERS, END_HEADERS, 1, toFields([...toHead('POST'), field])),
        toFrame(DATA, END_STREAM, 1, hidden),
      );
      await expect.poll(() => raw.hasRefused(1)).toBe(true);
      raw.socket.destroy();
    }
    await expectService();
  },
);

attackFromOutside(
  'leading a caller of plain HTTP to another host, by a host name or a path',
  'a redirect to the configured names alone',
  async () => {
    const [, port] = /sent to the port with TLS.*"port":(\d+)/.exec(stack.log()) ?? [];
    for (const [line, name] of [
      ['GET / HTTP/1.1', 'evil.test'],
      ['GET / HTTP/1.1', 'localhost.evil.test'],
      ['GET / HTTP/1.1', 'evil.test/.localhost'],
      ['GET / HTTP/1.1', 'evil.test#.localhost'],
      ['GET http://evil.test/ HTTP/1.1', 'localhost'],
      ['GET //evil.test/ HTTP/1.1', 'localhost'],
    ]) {
      const socket = connect({ host: '127.0.0.1', port: Number(port) });
      socket.write(`${line}\r\nHost: ${name}\r\n\r\n`);
      const [, address] = /^location: (.*)\r$/im.exec(await text(socket)) ?? [];
      if (address !== undefined) expect(new URL(address).origin).toBe(stack.address.apiUrl);
    }
    await expectService();
  },
);

attackFromOutside(
  'opening and resetting streams of HTTP/2 without end',
  'a bound of resets, at which the connection ends',
  async () => {
    const raw = await open();
    const fields = toFields(toHead('GET'));
    for (let stream = 1; stream < 8_000; stream += 2)
      raw.send(
        toFrame(HEADERS, END_HEADERS | END_STREAM, stream, fields),
        toFrame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, 8])),
      );
    await raw.closed;
    await expectService();
  },
);

attackFromOutside(
  'sending a head of HTTP/2 that goes on without end',
  'a bound of the frames and of the bytes of a head, at which the connection ends',
  async () => {
    const raw = await open();
    raw.send(toFrame(HEADERS, END_STREAM, 1, toFields(toHead('GET'))));
    const filler = toFrame(CONTINUATION, 0, 1, toFields([['x-filler', 'x'.repeat(1_000)]]));
    const flood = setInterval(() => {
      if (!raw.socket.destroyed) raw.send(filler);
    }, 1);
    await raw.closed;
    clearInterval(flood);
    await expectService();
  },
);

attackFromOutside(
  'putting a key of another certificate in the place of that of the server',
  'the pair is compared before it is used, and the one before stays',
  async () => {
    const readServed = async (): Promise<string> => {
      const socket = connectTls({ host: 'localhost', port: toPort() });
      await once(socket, 'secureConnect');
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      return fingerprint256;
    };
    const before = await readServed();
    const other = makeTrustedCertificate('localhost');
    copyFileSync(other.keyFile, certificate.keyFile);
    await expect.poll(() => stack.log()).toContain('the changed certificate cannot be used');
    expect(await readServed()).toBe(before);
    await expectService();
    other[Symbol.dispose]();
  },
);
