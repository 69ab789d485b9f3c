import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { jsonOf, type StreamAnswer } from './rpc-calls.ts';

testAgents((agent) => {
  const { stream } = agent.rpc;
  const sh = (script: string) => ({ process: { cmd: '/bin/sh', args: ['-c', script] } });

  /** What each message of the stream is. */
  const kindsOf = (answer: StreamAnswer): string[] =>
    jsonOf(answer).map((message) => {
      const { event, error } = message as { event?: object; error?: object };
      return Object.keys(event ?? error ?? message ?? {})[0] ?? 'end of stream';
    });

  describe('a silent stream', () => {
    it('rule 6.1-12, 10-31: carries keepalives at the requested interval, after start and before end', async () => {
      const headers = { 'keepalive-ping-interval': '1' };
      const begunMs = performance.now();
      const answer = await stream('process.Process/Start', [sh('sleep 3.5')], headers);
      const tookSeconds = (performance.now() - begunMs) / 1_000;
      const kinds = kindsOf(answer);
      expect([kinds[0], ...kinds.slice(-2)]).toEqual(['start', 'end', 'end of stream']);
      const between = kinds.slice(1, -2);
      expect(between).toEqual(between.map(() => 'keepalive'));
      // Three, fewer where the machine is slow to begin or to send one, and more where it is slow to notice the end.
      expect(between.length).toBeGreaterThanOrEqual(2);
      expect(between.length).toBeLessThanOrEqual(tookSeconds);
      expect(jsonOf(answer)[1]).toEqual({ event: { keepalive: {} } });
    });

    it('rule 6.1-12: restarts the interval with each event', async () => {
      const script = 'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.5; done; sleep 2';
      const answer = await stream('process.Process/Start', [sh(script)], { 'keepalive-ping-interval': '2' });
      const kinds = kindsOf(answer);
      // Four seconds of events, none of them more than two apart, and then more than two without. A late look finds two in one.
      expect(kinds.filter((kind, at) => kind !== kinds[at - 1])).toEqual([
        'start',
        'data',
        'keepalive',
        'end',
        'end of stream',
      ]);
      expect(kinds.filter((kind) => kind === 'data').length).toBeGreaterThan(2);
    });

    it('rule 6.1-12: of Connect and of WatchDir carries keepalives as well', async () => {
      const headers = { 'keepalive-ping-interval': '1', 'connect-timeout-ms': '3000' };
      // The last one comes at the deadline or not at all.
      const keepalives = [{ keepalive: {} }, { keepalive: {} }];
      const watch = await stream('filesystem.Filesystem/WatchDir', [{ path: '/usr' }], headers);
      expect(jsonOf(watch).slice(0, 3)).toEqual([{ start: {} }, ...keepalives]);
      expect(kindsOf(watch).length).toBeLessThanOrEqual(5);
      const started = agent.client.process.start({ process: { cmd: 'sleep', args: ['30'] }, tag: 'quiet' });
      await started[Symbol.asyncIterator]().next();
      const attached = await stream('process.Process/Connect', [{ process: { tag: 'quiet' } }], headers);
      expect(kindsOf(attached).slice(0, 3)).toEqual(['start', 'keepalive', 'keepalive']);
      expect(kindsOf(attached).length).toBeLessThanOrEqual(5);
      expect(kindsOf(attached).at(-1)).toBe('code');
    });

    it('rule 6.1-12, 10-31: without a requested interval carries none within seconds', async () => {
      expect(kindsOf(await stream('process.Process/Start', [sh('sleep 3')]))).toEqual([
        'start',
        'end',
        'end of stream',
      ]);
    });

    it.each(['0', '-1', 'often', '1.5'])('rule 6.1-12: refuses the interval "%s"', async (pace) => {
      const answer = await stream('process.Process/Start', [sh('true')], { 'keepalive-ping-interval': pace });
      expect(jsonOf(answer)).toEqual([
        { error: { code: 'invalid_argument', message: expect.stringContaining('Keepalive-Ping-Interval') } },
      ]);
    });
  });

  describe('the order of a stream', () => {
    it('rule 10-31: is start, data that is never empty, end', async () => {
      const script = 'for i in $(seq 200); do printf ""; printf x; printf "" >&2; printf y >&2; done';
      const answer = await stream('process.Process/Start', [sh(script)], { 'keepalive-ping-interval': '1' });
      const kinds = kindsOf(answer);
      expect(kinds[0]).toBe('start');
      expect(kinds.slice(-2)).toEqual(['end', 'end of stream']);
      expect(new Set(kinds.slice(1, -2))).toEqual(new Set(['data']));
      for (const message of jsonOf(answer).slice(1, -2)) {
        const { data } = (message as { event: { data: Record<string, string> } }).event;
        const { offset, ...output } = data;
        expect(offset).toMatch(/^\d+$/);
        expect(Object.values(output)).toEqual([expect.stringMatching(/^.+$/)]);
      }
    });
  });
});
