import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toName, toUint16 } from './dns-message.ts';
import { createDnsUpdates } from './dns-updates.ts';
import { signMessage } from './tsig.ts';
import { readTsigKey, type TsigKey } from './tsig-key.ts';

const key: TsigKey = { name: 'skerry', hash: 'sha256', secret: Buffer.from('a secret of the zone') };
const signal = AbortSignal.timeout(30_000);

describe('an update of the DNS', () => {
  let server: Server;
  let names: UdpSocket;
  let answer: (request: Buffer) => Buffer;
  beforeEach(async () => {
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (data: Buffer) => {
        const reply = answer(data.subarray(2));
        socket.end(Buffer.concat([toUint16(reply.length), reply]));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    // Every name is the beginning of a zone.
    names = createSocket('udp4', (query, { port, address }) => {
      const question = query.subarray(12, query.indexOf(0, 12) + 5);
      const data = Buffer.concat([toName('ns.test'), toName('admin.test'), Buffer.alloc(20)]);
      const record = [
        question.subarray(0, -4),
        toUint16(6),
        toUint16(1),
        Buffer.alloc(4),
        toUint16(data.length),
        data,
      ];
      const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x84, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
      names.send(Buffer.concat([head, question, ...record]), port, address);
    });
    names.bind((server.address() as AddressInfo).port, '127.0.0.1');
    await once(names, 'listening');
  });
  afterEach(() => {
    server.close();
    names.close();
  });

  const add = (): Promise<void> =>
    createDnsUpdates({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, key }).add(
      '_acme-challenge.boxes.test',
      'value',
      signal,
    );
  const toHead = (request: Buffer, result = 0): Buffer =>
    Buffer.from([request[0] ?? 0, request[1] ?? 0, 0xa8, result, 0, 0, 0, 0, 0, 0, 0, 0]);

  it.each([
    ['no signature', (request: Buffer) => toHead(request)],
    [
      'a signature that does not belong to the request',
      (request: Buffer) => signMessage(toHead(request), key, Date.now()).signed,
    ],
    [
      'the signature of another key',
      (request: Buffer) =>
        signMessage(toHead(request), { ...key, secret: Buffer.from('other') }, Date.now()).signed,
    ],
    [
      'records that are cut off',
      (request: Buffer) => Buffer.concat([toHead(request).fill(1, 11), Buffer.from([4])]),
    ],
  ])('is not taken for done by an answer with %s', async (_what, give) => {
    answer = give;
    await expect(add()).rejects.toThrow('is not signed by the key skerry');
  });

  it.each([
    [5, 'the key may not change the zone'],
    [9, 'it does not know the key, or the secret'],
    [3, 'its result is 3'],
  ])('says what the result %s of a server means', async (result, message) => {
    answer = (request) => toHead(request, result);
    await expect(add()).rejects.toThrow(message);
  });

  it('needs an answer that is whole', async () => {
    answer = () => Buffer.alloc(0);
    await expect(add()).rejects.toThrow('refuses the change');
  });
});

describe('the file of a key', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'skerry-tsig-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));
  const write = (text: string, mode = 0o600): string => {
    const path = join(dir, 'key');
    writeFileSync(path, text, { mode });
    return path;
  };
  const whole = 'key "Boxes.Example." {\n  algorithm hmac-sha512;\n  secret "YWJj";\n};\n';

  it('is read as tsig-keygen writes it', () => {
    expect(readTsigKey(write(whole))).toEqual({
      name: 'boxes.example',
      hash: 'sha512',
      secret: Buffer.from('abc'),
    });
  });

  it.each([
    ['md5', whole.replace('sha512', 'md5')],
    ['no secret', whole.replace(/secret.*/, '')],
    ['no name', whole.replace(/key.*\{/, '{')],
  ])('is refused with %s', (_what, text) => {
    expect(() => readTsigKey(write(text))).toThrow('has no key of the form');
  });

  it('is refused when other users may read it', () => {
    expect(() => readTsigKey(write(whole, 0o640))).toThrow('run chmod 600 on it');
  });
});
