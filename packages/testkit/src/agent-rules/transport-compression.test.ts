import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { envelope, readEnvelopes } from './envelopes.ts';
import { filesOf } from './plain-calls.ts';
import { type StreamAnswer, streamJson } from './rpc-calls.ts';

testAgents((agent) => {
  const plain = agent.plain;
  const { unary, stream } = agent.rpc;
  const start = 'process.Process/Start';
  const list = 'filesystem.Filesystem/ListDir';
  const wordy = { process: { cmd: '/bin/sh', args: ['-c', 'head -c 100000 /dev/zero'] } };

  /** The flags of all messages, and the bytes of stdout. */
  const read = ({ messages }: StreamAnswer) => {
    const flags = [...new Set(messages.map((message) => message.flags))].toSorted(
      (left, right) => left - right,
    );
    const sizes = messages.map(({ flags: flag, payload }) => {
      const text = flag % 2 === 1 ? gunzipSync(payload) : payload;
      const { event } = JSON.parse(text.toString()) as { event?: { data?: { stdout?: string } } };
      return Buffer.from(event?.data?.stdout ?? '', 'base64').length;
    });
    return { flags, sizeBytes: sizes.reduce((sum, size) => sum + size, 0) };
  };

  describe('answers', () => {
    it.each([
      ['nothing', {}],
      ['Accept-Encoding, which is about the whole body', { 'accept-encoding': 'gzip, deflate' }],
      ['identity', { 'connect-accept-encoding': 'identity' }],
      ['what the agent does not know', { 'connect-accept-encoding': 'br, zstd' }],
    ])(
      'rule 6.1-3, 10-35: a stream whose caller offers %s has no compressed message',
      async (_what, headers) => {
        const answer = await stream(start, [wordy], headers);
        expect(read(answer)).toEqual({ flags: [0, 2], sizeBytes: 100_000 });
        expect(answer.headers).not.toHaveProperty('connect-content-encoding');
        expect(answer.headers).not.toHaveProperty('content-encoding');
      },
    );

    it('rule 6.1-3: a stream whose caller offers gzip by Connect-Accept-Encoding may be compressed', async () => {
      const answer = await stream(start, [wordy], { 'connect-accept-encoding': 'br, gzip' });
      expect(answer.headers['connect-content-encoding']).toBe('gzip');
      const { flags, sizeBytes } = read(answer);
      expect([flags.includes(1), sizeBytes]).toEqual([true, 100_000]);
    });

    it('rule 6.1-3: a unary answer is compressed only when the request offers to read that', async () => {
      const large = { path: '/usr/bin' };
      const asItIs = await unary(list, large);
      expect([asItIs.status, asItIs.headers['content-encoding']]).toEqual([200, undefined]);
      expect((await unary(list, large, { 'accept-encoding': 'br' })).headers['content-encoding']).toBe(
        undefined,
      );
      const packed = await unary(list, large, { 'accept-encoding': 'gzip, deflate' });
      expect(packed.headers['content-encoding']).toBe('gzip');
      expect(JSON.parse(gunzipSync(packed.bytes).toString())).toEqual(asItIs.json);
    });

    it('rule 10-28: a download that offers gzip may get it, a range of it never does', async () => {
      const path = '/tmp/small';
      await plain.put(path, 'small file '.repeat(100));
      const offer = { 'accept-encoding': 'gzip, deflate' };
      const whole = await plain.get(path, offer);
      expect([whole.status, whole.headers['content-encoding']]).toEqual([200, 'gzip']);
      expect(gunzipSync(whole.bytes).toString()).toBe('small file '.repeat(100));
      const range = await plain.get(path, { ...offer, range: 'bytes=0-4' });
      expect([range.status, range.headers['content-encoding'], range.text]).toEqual([
        206,
        undefined,
        'small',
      ]);
      expect((await plain.call(`GET ${filesOf(path)}`)).headers['content-encoding']).toBe(undefined);
    });
  });

  describe('requests', () => {
    it('rule 6.1-3: are read when they are compressed with gzip, and refused by name otherwise', async () => {
      const body = Buffer.from(JSON.stringify({ path: '/etc/hostname' }));
      const stat = 'filesystem.Filesystem/Stat';
      const packed = await unary(stat, gzipSync(body), { 'content-encoding': 'gzip' });
      expect([packed.status, packed.json]).toMatchObject([200, { entry: { name: 'hostname' } }]);
      const other = await unary(stat, brotliCompressSync(body), { 'content-encoding': 'br' });
      expect([other.status, other.json]).toMatchObject([501, { code: 'unimplemented' }]);
      const wrong = await unary(stat, body, { 'content-encoding': 'gzip' });
      expect([wrong.status, wrong.json]).toMatchObject([400, { code: 'invalid_argument' }]);
    });

    it('rule 6.1-3: may not set the compression flag without saying how', async () => {
      const message = gzipSync(JSON.stringify({ process: { cmd: 'printf', args: ['x'] } }));
      const body = envelope(message, 1);
      const silent = await plain.call(`POST /${start}`, { headers: streamJson, body });
      expect(readEnvelopes(silent.bytes)).toMatchObject([
        { flags: 2, json: { error: { code: 'invalid_argument' } } },
      ]);
      const headers = { ...streamJson, 'connect-content-encoding': 'gzip' };
      const said = await plain.call(`POST /${start}`, { headers, body });
      expect(readEnvelopes(said.bytes).map(({ flags }) => flags)).toEqual([0, 0, 0, 2]);
    });
  });
});
