import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { startStack } from '../stack/stack.ts';
import { testAgents } from './agent-under-test.ts';
import { envelope, readEnvelopes } from './envelopes.ts';
import { createPlainCalls } from './plain-calls.ts';
import { createRpcCalls, jsonOf, streamJson } from './rpc-calls.ts';

testAgents((agent) => {
  const plain = agent.plain;
  const { unary, stream } = agent.rpc;
  const stat = 'filesystem.Filesystem/Stat';
  const start = 'process.Process/Start';
  const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
  const named = { code: 'resource_exhausted', message: expect.stringContaining(String(MAX_MESSAGE_BYTES)) };

  describe('the protocol version', () => {
    it.each(['', '2', '01', 'one', '1, 1'])(
      'rule 6.1-13: "%s" is refused, and nothing is started',
      async (value) => {
        const headers = { 'connect-protocol-version': value };
        const call = await unary('filesystem.Filesystem/MakeDir', { path: '/tmp/unversioned' }, headers);
        expect([call.status, call.json]).toEqual([
          400,
          { code: 'invalid_argument', message: expect.stringMatching(/connect-protocol-version/i) },
        ]);
        const answer = await stream(
          start,
          [{ process: { cmd: 'mkdir', args: ['/tmp/unversioned'] } }],
          headers,
        );
        expect(answer.status).toBe(200);
        expect(jsonOf(answer)).toEqual([
          {
            error: { code: 'invalid_argument', message: expect.stringMatching(/connect-protocol-version/i) },
          },
        ]);
        expect(await agent.files.exists('/tmp/unversioned')).toBe(false);
      },
    );
  });

  describe('a server that does not require the protocol version', () => {
    agent.needs('platform');

    it('rule 6.1-13: accepts calls without it, and refuses another version', async () => {
      await using lenient = await startStack({ args: ['--no-require-protocol-version'] });
      const there = await lenient.createSandbox();
      const calls = createRpcCalls(createPlainCalls(() => ({ stack: lenient, sandbox: there })));
      const none = { 'connect-protocol-version': '' };
      expect((await calls.unary(stat, { path: '/etc' }, none)).status).toBe(200);
      const streamed = await calls.stream(start, [{ process: { cmd: 'true' } }], none);
      expect(streamed.messages.map(({ flags }) => flags)).toEqual([0, 0, 2]);
      const other = await calls.unary(stat, { path: '/etc' }, { 'connect-protocol-version': '2' });
      expect([other.status, other.json]).toMatchObject([400, { code: 'invalid_argument' }]);
    });
  });

  describe('a message over the limit', () => {
    it('rule 6.1-16: is refused with the name of the limit, as a whole body, in a stream and compressed', async () => {
      const large = Buffer.alloc(MAX_MESSAGE_BYTES + 1, ' ');
      // A connection that ends with the answer would be closed before all of the body is sent.
      const kept = { connection: 'keep-alive' };
      const whole = await unary(stat, large, kept);
      expect([whole.status, whole.json]).toEqual([429, named]);
      const streamed = await plain.call(`POST /${start}`, {
        headers: { ...streamJson, ...kept },
        body: envelope(large),
      });
      expect(readEnvelopes(streamed.bytes)).toMatchObject([{ flags: 2, json: { error: named } }]);
      const bomb = gzipSync(large);
      const packed = await unary(stat, bomb, { ...kept, 'content-encoding': 'gzip' });
      expect([packed.status, packed.json]).toMatchObject([429, { code: 'resource_exhausted' }]);
      const headers = { ...streamJson, ...kept, 'connect-content-encoding': 'gzip' };
      const exploding = await plain.call(`POST /${start}`, { headers, body: envelope(bomb, 1) });
      expect(readEnvelopes(exploding.bytes)).toMatchObject([
        { flags: 2, json: { error: { code: 'resource_exhausted' } } },
      ]);
      expect(await agent.run('echo on')).toBe('on\n');
    });

    it('rule 6.1-16, 10-48: is refused by the length that it announces, before it is sent', async () => {
      const head = Buffer.from([0, 0xff, 0xff, 0xff, 0xff]);
      const announced = await plain.call(`POST /${start}`, { headers: streamJson, body: head });
      expect(readEnvelopes(announced.bytes)).toMatchObject([{ flags: 2, json: { error: named } }]);
    });

    it('rule 6.1-16: a message of exactly that size is accepted', async () => {
      const path = '"/etc/hostname"';
      const body = `{"path":${path}${' '.repeat(MAX_MESSAGE_BYTES - 9 - path.length)}}`;
      const answer = await unary(stat, body);
      expect([answer.status, Buffer.byteLength(body)]).toEqual([200, MAX_MESSAGE_BYTES]);
    });
  });

  describe('the memory of the agent', () => {
    it('rule 10-48: does not grow with streams that are not read and bodies that do not end', async () => {
      const answers = [];
      for (let index = 0; index < 40; index += 1) {
        const script = { process: { cmd: '/bin/sh', args: ['-c', 'head -c 200000000 /dev/zero'] } };
        answers.push(await plain.open(`POST /${start}`, { headers: streamJson, body: envelope(script) }));
      }
      const peakBytes = agent.findProcess().peakBytes();
      expect(peakBytes).toBeGreaterThan(1 << 20);
      expect(peakBytes).toBeLessThan(400 << 20);
      for (const answer of answers) answer.destroy();
      expect(await agent.run('echo on')).toBe('on\n');
    });
  });
});
