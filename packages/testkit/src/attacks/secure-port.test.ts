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
    args: [...certificate.args, '--http-redirect', '0', '--log-level', 'debug', '--no-memory'],
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

/** What comes back for bytes of HTTP/1.1, until the server ends the connection. */
const say = async (bytes: string): Promise<string> => {
  const socket = connectTls({ host: 'localhost', port: toPort(), ALPNProtocols: ['http/1.1'] });
  socket.on('error', () => undefined).write(bytes);
  return text(socket).catch(() => '');
};

attackFromOutside(
  'hiding a request behind one of HTTP/1, by two lengths, chunks or lines that continue',
  'a parser that refuses what others may read differently, and ends the connection',
  async () => {
    const host = `localhost:${toPort()}`;
    const hidden = `GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    for (const lines of [
      'Content-Length: 4\r\nTransfer-Encoding: chunked',
      'Content-Length: 4\r\nContent-Length: 5',
      'Content-Length: +4',
      'Transfer-Encoding: chunked, identity',
      'Transfer-Encoding : chunked',
      'Transfer-Encoding: identity\r\n , chunked',
      'X-One: a\nTransfer-Encoding: chunked',
      'X-One: a\rTransfer-Encoding: chunked',
    ])
      for (const name of [host, `3000-i0123456789abcdefghij.${host}`]) {
        const answers = await say(
          `POST /v2/sandboxes HTTP/1.1\r\nHost: ${name}\r\n${lines}\r\n\r\n0\r\n\r\n${hidden}`,
        );
        expect(answers.match(/^HTTP\/1\.1 \d+/gm), lines).toEqual(['HTTP/1.1 400']);
      }
    expect(await say(hidden.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))).toMatch(
      /^HTTP\/1\.1 200 /,
    );
  },
);

attackFromOutside(
  'using the server as a proxy by CONNECT, or keeping a connection of HTTP/2 by it',
  'a refusal that ends the connection; in HTTP/2 the method opens a WebSocket of a sandbox alone',
  async () => {
    const target = `127.0.0.1:${toPort()}`;
    for (const name of [
      target,
      `localhost:${toPort()}`,
      `3000-i0123456789abcdefghij.localhost:${toPort()}`,
    ]) {
      const key = `X-API-Key: ${stack.address.apiKey}`;
      expect(await say(`CONNECT ${name} HTTP/1.1\r\nHost: ${name}\r\n${key}\r\n\r\n`)).not.toContain(' 200 ');
      for (const more of [[], [[':protocol', 'connect-udp']], [[':protocol', 'connect-tcp']]] as [
        string,
        string,
      ][][]) {
        const raw = await open();
        const extended =
          more.length > 0
            ? toHead('CONNECT').filter(([field]) => field === ':scheme' || field === ':path')
            : [];
        const head = [[':method', 'CONNECT'], [':authority', name], ...extended, ...more] as const;
        raw.send(toFrame(HEADERS, END_HEADERS, 1, toFields(head as never)));
        await raw.closed;
      }
    }
    await expectService();
  },
);

attackFromOutside(
  'finding keys and tokens in the log, with its line for each request, or in an answer',
  'paths without queries in the log, and answers that repeat no secret of a request',
  async () => {
    const made = await stack.api.POST('/sandboxes', { body: { templateID: 'base', timeout: 60 } });
    const { sandboxID = '', envdAccessToken = '' } = made.data ?? {};
    const [, plain] = /sent to the port with TLS.*"port":(\d+)/.exec(stack.log()) ?? [];
    const secrets = {
      key: stack.address.apiKey,
      token: envdAccessToken,
      wrong: 'secret-wrong-key',
      query: 'secret-in-query',
      referrer: 'secret-in-referrer',
      cookie: 'secret-in-cookie',
      password: 'secret-as-password',
    };
    const headers = {
      'x-access-token': secrets.token,
      authorization: `Basic ${btoa(`root:${secrets.password}`)}`,
      referer: `https://evil.test/?${secrets.referrer}`,
      cookie: `token=${secrets.cookie}`,
    };
    const answers: string[] = [];
    const inside = { 'e2b-sandbox-id': sandboxID, 'e2b-sandbox-port': '49983' };
    const port = { ...inside, 'e2b-sandbox-port': '8000' };
    for (const path of [
      '/v2/sandboxes',
      '/nowhere',
      '/sandboxes/i',
      '/files',
      '/health',
      '/livez',
      '/signature',
    ])
      for (const key of [secrets.key, secrets.wrong])
        for (const route of path === '/health' ? [{}, inside, port] : [{}, inside]) {
          const url = `${stack.address.apiUrl}${path}?path=/etc/hostname&signature=${secrets.query}`;
          const answer = await fetch(url, {
            headers: { ...headers, ...route, 'x-api-key': key },
            redirect: 'manual',
          });
          answers.push(JSON.stringify([...answer.headers]), await answer.text());
        }
    const redirected = await fetch(`http://localhost:${plain}/nowhere`, {
      headers: { ...headers, 'x-api-key': secrets.key },
      redirect: 'manual',
    });
    expect(redirected.status).toBe(403);
    answers.push(JSON.stringify([...redirected.headers]), await redirected.text());
    await expect.poll(() => stack.log().match(/"message":"request"/g)?.length ?? 0).toBeGreaterThan(25);
    const written = [stack.log(), ...answers].join('\n');
    for (const [name, secret] of Object.entries(secrets)) {
      expect(secret.length, name).toBeGreaterThan(8);
      expect(written.includes(secret), `the ${name} was written`).toBe(false);
    }
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
