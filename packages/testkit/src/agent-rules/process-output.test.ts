import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Code } from '@connectrpc/connect';
import { Signal } from '@skerry/envd-client/process';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { begin, byPid, runScript, sh, trace } from './process-events.ts';
import { postStream } from './raw-stream.ts';

const PIPE_PIECE_BYTES = 32 * 1024;
const TERMINAL_PIECE_BYTES = 16 * 1024;

testAgents((agent) => {
  const startRaw = (request: unknown, headers = {}) =>
    postStream(agent.rpc, { procedure: 'process.Process/Start', messages: [request], headers });
  const kindOf = (json: unknown): string => {
    const { event } = json as { event?: { data?: object } & object };
    const [kind = 'nothing'] = Object.keys(event ?? {});
    return kind;
  };
  const isAlive = async (pid: number): Promise<boolean> =>
    (await runScript(agent.client, `[ -e /proc/${pid} ] && echo yes`)).stdout === 'yes\n';

  describe('the pieces of output', () => {
    it('rule 6.3-9: of 20 MB none is empty or over 32 KiB, and none is lost', async () => {
      const sizeBytes = 20_000_000;
      const script = `head -c ${sizeBytes} /dev/zero | tr '\\0' x; echo end >&2`;
      const { stdout, stderr, pieceBytes, end } = await runScript(agent.client, script);
      expect([stdout.length, stderr, end?.exitCode]).toEqual([sizeBytes, 'end\n', 0]);
      const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
      expect(digest(stdout)).toBe(digest('x'.repeat(sizeBytes)));
      expect(Math.max(...pieceBytes)).toBeLessThanOrEqual(PIPE_PIECE_BYTES);
      expect(Math.min(...pieceBytes)).toBeGreaterThan(0);
    });

    it('rule 6.3-9: of a terminal none is empty or over 16 KiB', async () => {
      const request = {
        ...sh('stty raw; seq 300000'),
        pty: { size: { cols: 80, rows: 24 } },
      };
      const { pty, pieceBytes } = await trace(agent.client.process.start(request));
      expect(pty === Array.from({ length: 300_000 }, (_, at) => `${at + 1}\n`).join('')).toBe(true);
      expect(Math.max(...pieceBytes)).toBeLessThanOrEqual(TERMINAL_PIECE_BYTES);
      expect(Math.min(...pieceBytes)).toBeGreaterThan(0);
    });

    it('rule 6.3-15: output without a reader is dropped, and the process continues to its end', async () => {
      const controller = new AbortController();
      const script = 'sleep 0.3; head -c 100000000 /dev/zero; echo done > /tmp/unread-is-done';
      await begin(agent.client.process.start(sh(script), { signal: controller.signal }));
      controller.abort();
      await expect
        .poll(async () => (await runScript(agent.client, 'cat /tmp/unread-is-done')).stdout)
        .toBe('done\n');
    });
  });

  describe('the order of a stream', () => {
    it('rule 6.3-10, 10-31: it is start, data, end and the empty end of the stream, and no piece is empty', async () => {
      const { status, envelopes } = await startRaw(sh('echo out; echo err >&2; printf ""; exit 2'));
      expect(status).toBe(200);
      expect(envelopes.map(({ flags }) => flags)).toEqual([0, 0, 0, 0, 2]);
      const [start, ...rest] = envelopes.map(({ json }) => json);
      expect(start).toEqual({ event: { start: { pid: expect.any(Number), offsets: {} } } });
      expect(rest.slice(0, 2)).toEqual(
        expect.arrayContaining([
          { event: { data: { stdout: btoa('out\n'), offset: '0' } } },
          { event: { data: { stderr: btoa('err\n'), offset: '0' } } },
        ]),
      );
      const status2 = 'exit status 2';
      expect(rest[2]).toEqual({
        event: { end: { exitCode: 2, exited: true, status: status2, error: status2 } },
      });
      expect(rest[3]).toEqual({});
    });

    it('rule 6.3-10, 10-31: a process that closes its output at once and stays silent gives start, keepalives and end', async () => {
      const request = { ...sh('exec >&- 2>&-; sleep 3.5'), stdin: false };
      const begunMs = performance.now();
      const { envelopes } = await startRaw(request, { 'Keepalive-Ping-Interval': '1' });
      const kinds = envelopes.slice(0, -1).map(({ json }) => kindOf(json));
      const keepalives = kinds.slice(1, -1);
      expect([kinds[0], ...new Set(keepalives), kinds.at(-1)]).toEqual(['start', 'keepalive', 'end']);
      expect(keepalives.length).toBeGreaterThanOrEqual(2);
      expect(keepalives.length).toBeLessThanOrEqual((performance.now() - begunMs) / 1_000);
      expect(envelopes.at(-1)).toMatchObject({ flags: 2, json: {} });
    });
  });

  describe('the end of a process', () => {
    it('rule 6.3-11, 10-34: it waits for a child in the background that holds the output open', async () => {
      const begun = performance.now();
      const { stdout, end } = await runScript(agent.client, '(sleep 0.6; echo late) & echo early');
      expect([stdout, end?.exitCode]).toEqual(['early\nlate\n', 0]);
      expect(performance.now() - begun).toBeGreaterThan(550);
      expect((await runScript(agent.client, '(exec >&-; sleep 0.6; echo late >&2) & :')).stderr).toBe(
        'late\n',
      );
    });

    it('rule 6.3-11, 10-34: after a signal through the API it does not wait, and what was written before is there', async () => {
      const { pid, rest } = await begin(agent.client.process.start(sh('sleep 1000 & echo before; wait')));
      const reading = trace(agent.client.process.connect({ ...byPid(pid), skerryOffset: 0n }));
      const first = (await rest[Symbol.asyncIterator]().next()).value?.event?.event;
      expect(first?.case).toBe('data');
      await agent.client.process.sendSignal({ ...byPid(pid), signal: Signal.SIGTERM });
      const { stdout, end } = await reading;
      expect([stdout, end?.status]).toEqual(['before\n', 'signal: terminated']);
      for await (const { event } of rest)
        if (event?.event.case === 'end') expect(event.event.value.exitCode).toBe(-1);
    });

    it.each([
      ['exit 0', { exitCode: 0, exited: true, status: 'exit status 0' }],
      ['exit 255', { exitCode: 255, exited: true, status: 'exit status 255', error: 'exit status 255' }],
      ['kill -KILL $$', { exitCode: -1, exited: false, status: 'signal: killed', error: 'signal: killed' }],
      [
        'kill -TERM $$',
        { exitCode: -1, exited: false, status: 'signal: terminated', error: 'signal: terminated' },
      ],
      [
        'ulimit -c 0; kill -SEGV $$',
        {
          exitCode: -1,
          exited: false,
          status: 'signal: segmentation fault',
          error: 'signal: segmentation fault',
        },
      ],
    ])('rule 6.3-12: "%s" is reported by exit code, kind and text', async (script, expected) => {
      expect((await runScript(agent.client, script)).end).toEqual(expected);
    });

    it('rule 6.3-12, 10-32: the CLI finds -1 and "signal: killed" after a kill through the API', async () => {
      const { pid, rest } = await begin(agent.client.process.start(sh('exec sleep 100')));
      await agent.client.process.sendSignal({ ...byPid(pid), signal: Signal.SIGKILL });
      const ends: unknown[] = [];
      for await (const { event } of rest) if (event?.event.case === 'end') ends.push(event.event.value);
      expect(ends).toMatchObject([
        { exitCode: -1, exited: false, status: 'signal: killed', error: 'signal: killed' },
      ]);
    });
  });

  describe('a stream that is lost', () => {
    it('rule 6.1-11, 10-33: the process outlives the client that started it', async () => {
      const controller = new AbortController();
      const request = sh('while sleep 0.1; do echo tick; done');
      const { pid } = await begin(agent.client.process.start(request, { signal: controller.signal }));
      controller.abort();
      await delay(500);
      expect(await isAlive(pid)).toBe(true);
      const { rest } = await begin(agent.client.process.connect(byPid(pid)));
      for await (const { event } of rest) {
        if (event?.event.case === 'data') break;
      }
      await agent.client.process.sendSignal({ ...byPid(pid), signal: Signal.SIGKILL });
      await expect.poll(() => isAlive(pid)).toBe(false);
    });

    it('rule 6.1-8, 10-33: the timeout of Start kills it, also when the client has gone', async () => {
      const request = sh("trap '' TERM; while :; do sleep 0.1; done");
      await expect(trace(agent.client.process.start(request, { timeoutMs: 600 }))).rejects.toMatchObject({
        code: Code.DeadlineExceeded,
      });
      const controller = new AbortController();
      const begunMs = performance.now();
      const { pid } = await begin(
        agent.client.process.start(request, { timeoutMs: 2_000, signal: controller.signal }),
      );
      controller.abort();
      await expect.poll(() => isAlive(pid)).toBe(false);
      // The timeout has killed it, not the disconnect of the client.
      expect(performance.now() - begunMs).toBeGreaterThan(1_990);
    });
  });
});
