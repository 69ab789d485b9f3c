import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const post = (procedure: string, type: string, body: Uint8Array, headers: Record<string, string> = {}) =>
  agent.http({
    method: 'POST',
    path: `/${procedure}`,
    headers: { 'content-type': type, 'connect-protocol-version': '1', ...headers },
    body,
  });

const envelope = (payload: Uint8Array, flags = 0): Buffer => {
  const head = Buffer.from([flags, 0, 0, 0, 0]);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
};

/** Field 1 with a length of ten and one byte. */
const NO_MESSAGE = Buffer.from([0x0a, 10, 0]);

describe('a request that cannot be read is the fault of its sender', () => {
  it.each([
    ['a message that is cut off', NO_MESSAGE, {}],
    ['a body that is not the gzip it claims to be', Buffer.from('plain'), { 'content-encoding': 'gzip' }],
    ['gzip that breaks off', gzipSync(Buffer.alloc(1000)).subarray(0, 15), { 'content-encoding': 'gzip' }],
  ])('in a unary call: %s', async (_title, body, headers) => {
    const answer = await post('filesystem.Filesystem/Stat', 'application/proto', body, headers);
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({ code: 'invalid_argument', message: expect.stringMatching(/./) });
    expect(answer.headers['content-length']).toBe(String(answer.body.length));
  });

  it.each([
    ['a message that is cut off', envelope(NO_MESSAGE), {}],
    ['compression that was not announced', envelope(gzipSync('{}'), 1), {}],
    ['an envelope that is cut off', envelope(Buffer.alloc(100)).subarray(0, 50), {}],
    ['gzip that is none', envelope(Buffer.from('plain'), 1), { 'connect-content-encoding': 'gzip' }],
  ])('in a stream: %s', async (_title, body, headers) => {
    for (const procedure of ['process.Process/Connect', 'process.Process/StreamInput']) {
      const answer = await post(procedure, 'application/connect+proto', body, headers);
      expect(answer.status).toBe(200);
      expect(answer.body[0]).toBe(2);
      expect(JSON.parse(answer.body.subarray(5).toString())).toMatchObject({
        error: { code: 'invalid_argument' },
      });
    }
  });

  it('but not when the call itself has failed', async () => {
    const body = Buffer.from([0x0a, 1, 0x78]);
    const answer = await post('filesystem.Filesystem/GetWatcherEvents', 'application/proto', body);
    expect([answer.status, answer.json]).toMatchObject([404, { code: 'not_found' }]);
  });
});

describe('an answer', () => {
  it('to a compressed request is not compressed unless that was offered', async () => {
    const body = gzipSync(Buffer.from('\x0a\x08/usr/bin'));
    const sent = { 'content-encoding': 'gzip' };
    const plain = await post('filesystem.Filesystem/ListDir', 'application/proto', body, sent);
    expect([plain.status, plain.headers['content-encoding']]).toEqual([200, undefined]);
    const offered = { ...sent, 'accept-encoding': 'gzip' };
    const packed = await post('filesystem.Filesystem/ListDir', 'application/proto', body, offered);
    expect([packed.status, packed.headers['content-encoding']]).toEqual([200, 'gzip']);
  });
});
