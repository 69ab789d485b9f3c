import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { envelope } from './envelopes.ts';
import { jsonOf, streamJson } from './rpc-calls.ts';

testAgents((agent) => {
  const plain = agent.plain;
  const { unary, stream } = agent.rpc;
  const start = 'process.Process/Start';
  const sleep = (tag: string) => ({ process: { cmd: 'sleep', args: ['1000'] }, tag });
  const isLive = async (tag: string): Promise<boolean> =>
    (await agent.client.process.list({})).processes.some((process) => process.tag === tag);
  const deadlineExceeded = { error: { code: 'deadline_exceeded', message: expect.any(String) } };

  /** Sends a request whose stream is left as soon as its first bytes are there. */
  const leave = async (message: unknown, headers: Record<string, string> = {}): Promise<void> => {
    const body = envelope(message);
    const answer = await plain.open(`POST /${start}`, { headers: { ...streamJson, ...headers }, body });
    answer.on('error', () => undefined);
    answer.once('data', () => answer.destroy());
    await new Promise((resolve) => answer.once('close', resolve));
  };

  /** Resolves with the first that a process has written. */
  const untilWritten = async (tag: string): Promise<string> => {
    const target = { process: { selector: { case: 'tag' as const, value: tag } }, skerryOffset: 0n };
    for await (const { event } of agent.client.process.connect(target)) {
      if (event?.event.case === 'data') return Buffer.from(event.event.value.output.value ?? []).toString();
    }
    return 'ended';
  };

  describe('Connect-Timeout-Ms', () => {
    it('rule 6.1-8, 10-33: of Start is the life of the process', async () => {
      const begunMs = performance.now();
      const answer = await stream(start, [sleep('limited')], { 'connect-timeout-ms': '1500' });
      const tookMs = performance.now() - begunMs;
      expect(answer.status).toBe(200);
      expect(jsonOf(answer)).toEqual([
        { event: { start: { pid: expect.any(Number), offsets: {} } } },
        deadlineExceeded,
      ]);
      expect(tookMs).toBeGreaterThan(1_490);
      await expect.poll(() => isLive('limited')).toBe(false);
    });

    it('rule 6.1-8, 6.1-11: counts for a process whose caller has left, and not before', async () => {
      const begunMs = performance.now();
      await leave(sleep('left'), { 'connect-timeout-ms': '2500' });
      await expect.poll(() => isLive('left')).toBe(false);
      expect(performance.now() - begunMs).toBeGreaterThan(2_490);
    });

    it('rule 6.1-9: of Connect and of WatchDir ends the stream and nothing else', async () => {
      await leave(sleep('kept'));
      const limit = { 'connect-timeout-ms': '1500' };
      const attached = await stream('process.Process/Connect', [{ process: { tag: 'kept' } }], limit);
      expect(jsonOf(attached)).toEqual([
        { event: { start: { pid: expect.any(Number), offsets: {} } } },
        deadlineExceeded,
      ]);
      expect(await isLive('kept')).toBe(true);
      const watch = await stream('filesystem.Filesystem/WatchDir', [{ path: '/tmp' }], limit);
      expect(jsonOf(watch)).toEqual([{ start: {} }, deadlineExceeded]);
      for (const { pid } of (await agent.client.process.list({})).processes) await agent.kill(pid);
    });

    it('rule 6.1-10: of 0, like none, is no limit', async () => {
      const brief = { process: { cmd: 'sleep', args: ['1'] } };
      for (const headers of [{ 'connect-timeout-ms': '0' }, {}, { 'connect-timeout-ms': '9999999999' }]) {
        const answer = await stream(start, [brief], headers);
        expect(jsonOf(answer).slice(1)).toEqual([
          { event: { end: { exited: true, status: 'exit status 0' } } },
          {},
        ]);
      }
    });

    it.each(['soon', '-1', '1.5', '1e3', '0x10', '12345678901', '1, 2'])(
      'rule 6.1-10: of "%s" is refused, and nothing is started',
      async (timeout) => {
        const headers = { 'connect-timeout-ms': timeout };
        const call = await unary('filesystem.Filesystem/Stat', { path: '/' }, headers);
        expect([call.status, call.json]).toEqual([
          400,
          { code: 'invalid_argument', message: expect.stringContaining(timeout) },
        ]);
        const answer = await stream(start, [sleep('refused')], headers);
        expect(answer.status).toBe(200);
        expect(jsonOf(answer)).toEqual([
          { error: { code: 'invalid_argument', message: expect.stringContaining(timeout) } },
        ]);
        expect(await isLive('refused')).toBe(false);
      },
    );

    it.each([
      ['stdin', sleep('deaf')],
      [
        'pty',
        {
          process: { cmd: '/bin/sh', args: ['-c', 'stty raw -echo; echo; sleep 1000'] },
          pty: { size: { cols: 80, rows: 24 } },
          tag: 'deaf terminal',
        },
      ],
    ])(
      'rule 8.4-1, 6.1-4: that passes while %s is not read answers 504 with deadline_exceeded',
      async (kind, request) => {
        await leave(request);
        // Before, the terminal keeps of a long line what it has room for, and drops the rest.
        if (kind === 'pty') await untilWritten(request.tag);
        // More than lies between the agent and a process that does not read.
        const input = { [kind]: Buffer.alloc(8 << 20, 'x').toString('base64') };
        const body = { process: { tag: request.tag }, input };
        for (const timeout of ['1', '1500']) {
          const late = await unary('process.Process/SendInput', body, { 'connect-timeout-ms': timeout });
          expect([late.status, late.json]).toMatchObject([504, { code: 'deadline_exceeded' }]);
        }
      },
    );
  });

  describe('a caller that goes away', () => {
    it('rule 6.1-11, 10-33: leaves its process running, by pid and by tag', async () => {
      await leave({
        process: { cmd: '/bin/sh', args: ['-c', 'sleep 1; echo late; sleep 1000'] },
        tag: 'orphan',
      });
      expect(await untilWritten('orphan')).toBe('late\n');
      expect(await isLive('orphan')).toBe(true);
    });
  });
});
