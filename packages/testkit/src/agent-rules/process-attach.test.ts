import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Code, type ConnectError } from '@connectrpc/connect';
import type { EnvdClient } from '@skerry/envd-client';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { begin, byPid, byTag, runScript, sh, stdin, trace, traceRest } from './process-events.ts';
import { postStream } from './raw-stream.ts';

const MEGABYTE = 1_000_000;
const RETAINED_MS = 30_000;

testAgents((agent) => {
  /** Numbered lines: each says where it stands, so a byte that is missing, doubled or moved shows. */
  const lines = (count: number): string => Array.from({ length: count }, (_, at) => `line ${at}\n`).join('');
  /** Leaves a stream behind its start message, as a client that is cut off. */
  const startAndLeave = async (request: Parameters<EnvdClient['process']['start']>[0]): Promise<number> => {
    const controller = new AbortController();
    const { pid } = await begin(agent.client.process.start(request, { signal: controller.signal }));
    controller.abort();
    return pid;
  };

  /** Resolves when a process has written that text, whatever came before it. */
  const untilWritten = async (pid: number, text: string): Promise<void> => {
    const controller = new AbortController();
    const { rest } = await begin(
      agent.client.process.connect({ ...byPid(pid), skerryOffset: 0n }, { signal: controller.signal }),
    );
    // Only the end can become the text: searching megabytes again for each piece would hold up the streams of the test.
    let seen = '';
    let isWritten = false;
    for await (const { event } of rest) {
      if (event?.event.case !== 'data') continue;
      seen += Buffer.from(event.event.value.output.value ?? []).toString('latin1');
      isWritten = seen.includes(text);
      if (isWritten) break;
      seen = seen.slice(1 - text.length);
    }
    controller.abort();
    expect(isWritten, text).toBe(true);
  };

  describe('Connect', () => {
    it('rule 6.2-3, 6.3-13: any number of callers get start, then what comes from now on', async () => {
      const script = 'echo old; read a; echo "new $a"; echo err >&2; exit 3';
      const { pid } = await begin(agent.client.process.start({ ...sh(script), tag: 'many' }));
      const first = trace(agent.client.process.connect({ ...byPid(pid), skerryOffset: 0n }));
      await untilWritten(pid, 'old\n');
      const others = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          begin(agent.client.process.connect(at % 2 === 0 ? byPid(pid) : byTag('many'))),
        ),
      );
      await agent.client.process.sendInput({ ...byPid(pid), input: stdin('x\n') });
      expect((await first).stdout).toBe('old\nnew x\n');
      for (const { stdout, stderr, end, ...rest } of await Promise.all(others.map(traceRest))) {
        expect([rest.pid, stdout, stderr, end?.exitCode]).toEqual([pid, 'new x\n', 'err\n', 3]);
      }
    });

    it('rule 6.1-9: its timeout ends the stream only', async () => {
      const { pid } = await begin(agent.client.process.start(sh('read _; echo alive')));
      const short = trace(agent.client.process.connect(byPid(pid), { timeoutMs: 200 }));
      await expect(short).rejects.toMatchObject({ code: Code.DeadlineExceeded });
      const next = await begin(agent.client.process.connect(byPid(pid)));
      await agent.client.process.sendInput({ ...byPid(pid), input: stdin('\n') });
      expect((await traceRest(next)).stdout).toBe('alive\n');
    });
  });

  describe('Connect after the end of a process', () => {
    agent.needs('time');

    it('rule 6.3-14: for 30 seconds after the end it answers start and end, then the process is not found', async () => {
      const begunMs = performance.now();
      const { pid } = await runScript(agent.client, 'echo text; exit 7');
      const endedMs = performance.now();
      const again = await trace(agent.client.process.connect(byPid(pid)));
      expect([again.kinds, again.end?.exitCode]).toEqual([['end'], 7]);
      const ask = () =>
        trace(agent.client.process.connect(byPid(pid))).then(
          ({ end }) => end?.exitCode,
          (error: ConnectError) => error.code,
        );
      await delay(RETAINED_MS - 5_000);
      let lastMs = endedMs;
      for (let answer: number | undefined = 7; answer !== Code.NotFound; ) {
        const askedMs = performance.now();
        answer = await ask();
        expect([7, Code.NotFound]).toContain(answer);
        if (answer === 7) lastMs = askedMs;
        else expect(performance.now() - begunMs).toBeGreaterThan(RETAINED_MS);
        await delay(500);
      }
      expect(lastMs - endedMs).toBeLessThan(RETAINED_MS + 5_000);
    });
  });

  describe('a stream from an offset on', () => {
    it('rule 6.3-22: the missed output comes first, from the middle of a line and across both kinds, then what follows', async () => {
      const pid = await startAndLeave(sh('echo one; read _; echo two >&2; read _; echo three'));
      const goOn = () => agent.client.process.sendInput({ ...byPid(pid), input: stdin('\n') });
      await untilWritten(pid, 'one\n');
      await goOn();
      await untilWritten(pid, 'two\n');
      const attached = await begin(agent.client.process.connect({ ...byPid(pid), skerryOffset: 2n }));
      await goOn();
      const { offset, stdout, stderr, kinds } = await traceRest(attached);
      expect([offset, stdout, stderr, kinds]).toEqual([
        2n,
        'e\nthree\n',
        'two\n',
        ['stdout', 'stderr', 'stdout', 'end'],
      ]);
    });

    it('rule 6.3-22: two readers at different places get what is behind each, also after the end of the process', async () => {
      const text = lines(20_000);
      const { pid } = await runScript(
        agent.client,
        'for ((at = 0; at < 20000; at++)); do echo "line $at"; done',
      );
      for (const from of [0, 1, 65_536, text.length - 1, text.length]) {
        const { offset, stdout, end } = await trace(
          agent.client.process.connect({ ...byPid(pid), skerryOffset: BigInt(from) }),
        );
        expect([offset, end?.exitCode]).toEqual([BigInt(from), 0]);
        expect(stdout === text.slice(from)).toBe(true);
      }
      const missing = await trace(agent.client.process.start({ process: { cmd: 'no-such-program' } }));
      const replay = agent.client.process.connect({ ...byPid(missing.pid), skerryOffset: 0n });
      expect(await trace(replay)).toMatchObject({ stderr: missing.stderr, end: { exitCode: 127 } });
    });

    it('rule 6.3-22: a gap shows as a larger offset in start, and the output that follows is the output at that offset', async () => {
      const sizeBytes = 30 * MEGABYTE;
      const keystream = `openssl enc -aes-128-ctr -nosalt -K 00 -iv 00 -in /dev/zero 2>/dev/null | head -c ${sizeBytes}`;
      const pid = await startAndLeave(sh(`${keystream}; touch /tmp/written; sleep 1`));
      await expect
        .poll(async () => (await runScript(agent.client, 'ls /tmp/written')).end?.exitCode, {
          timeout: 60_000,
        })
        .toBe(0);
      const { offset = 0n, rest } = await begin(
        agent.client.process.connect({ ...byPid(pid), skerryOffset: 1n }),
      );
      // At most 2 MiB are kept without a reader.
      expect(sizeBytes - Number(offset)).toBeLessThanOrEqual(2 * 1024 * 1024);
      expect(sizeBytes - Number(offset)).toBeGreaterThan(MEGABYTE);
      const chunks: Uint8Array[] = [];
      for await (const { event } of rest)
        if (event?.event.case === 'data') chunks.push(event.event.value.output.value ?? new Uint8Array());
      const hash = createHash('sha256').update(Buffer.concat(chunks)).digest('hex');
      const tail = await runScript(agent.client, `${keystream} | tail -c +${offset + 1n} | sha256sum`);
      expect(tail.stdout).toBe(`${hash}  -\n`);
    });

    it('rule 6.3-22: no output of a fast process is lost when the caller set skerry_hold_ms', async () => {
      const sizeBytes = 30 * MEGABYTE;
      const pid = await startAndLeave({
        ...sh(`head -c ${sizeBytes} /dev/zero; echo end >&2`),
        skerryHoldMs: 10_000,
      });
      await delay(500);
      const { offset, stdout, stderr } = await trace(
        agent.client.process.connect({ ...byPid(pid), skerryOffset: 0n }),
      );
      expect([offset, stdout.length, stderr]).toEqual([0n, sizeBytes, 'end\n']);
    });

    it('rule 6.3-22: the output of a terminal is resumed as well', async () => {
      const request = { ...sh('printf first; read a; printf second'), pty: { size: { cols: 80, rows: 24 } } };
      const pid = await startAndLeave(request);
      await untilWritten(pid, 'first');
      const reading = trace(agent.client.process.connect({ ...byPid(pid), skerryOffset: 2n }));
      const input = { input: { case: 'pty' as const, value: Buffer.from('x\r') } };
      await agent.client.process.sendInput({ ...byPid(pid), input });
      expect((await reading).pty).toBe('rstx\r\nsecond');
    });

    it('rule 6.3-22: one behind the end begins at the end, which start reports', async () => {
      const pid = await startAndLeave(sh('printf 12345; read _; printf 678'));
      await untilWritten(pid, '12345');
      const attached = await begin(
        agent.client.process.connect({ ...byPid(pid), skerryOffset: 2n ** 64n - 1n }),
      );
      await agent.client.process.sendInput({ ...byPid(pid), input: stdin('\n') });
      const { offset, stdout } = await traceRest(attached);
      expect([offset, stdout]).toEqual([5n, '678']);
    });

    it('rule 6.3-23: start and every piece carry offsets by kind, and resume_from continues behind them', async () => {
      const pid = await startAndLeave(sh('printf one; read _; printf two >&2; read _; printf three'));
      const goOn = () => agent.client.process.sendInput({ ...byPid(pid), input: stdin('\n') });
      await untilWritten(pid, 'one');
      await goOn();
      await untilWritten(pid, 'two');
      const { offsets, rest } = await begin(
        agent.client.process.connect({ ...byPid(pid), resumeFrom: { stdout: 1n, stderr: 3n } }),
      );
      expect(offsets).toMatchObject({ stdout: 1n, stderr: 3n, pty: 0n });
      await goOn();
      const pieces: unknown[] = [];
      for await (const { event } of rest)
        if (event?.event.case === 'data') {
          const { output, offset } = event.event.value;
          pieces.push([output.case, Buffer.from(output.value ?? []).toString(), offset]);
        }
      expect(pieces).toEqual([
        ['stdout', 'ne', 1n],
        ['stdout', 'three', 3n],
      ]);
      expect((await begin(agent.client.process.connect(byPid(pid)))).offsets).toMatchObject({
        stdout: 8n,
        stderr: 3n,
      });
    });

    it('rule 6.3-23: resume_from answers out_of_range for output that is gone, invalid_argument for what is not written', async () => {
      const pid = await startAndLeave(sh(`head -c ${10 * MEGABYTE} /dev/zero; echo end >&2; sleep 60`));
      await untilWritten(pid, 'end\n');
      const resume = (resumeFrom: { stdout: bigint; stderr: bigint }) =>
        begin(agent.client.process.connect({ ...byPid(pid), resumeFrom }));
      const all = BigInt(10 * MEGABYTE);
      await expect(resume({ stdout: 1n, stderr: 0n })).rejects.toMatchObject({
        code: Code.OutOfRange,
        rawMessage: expect.stringMatching(/^resume_from\.stdout is 1, but only output from \d+ on is kept/),
      });
      await expect(resume({ stdout: all, stderr: 5n })).rejects.toMatchObject({
        code: Code.InvalidArgument,
        rawMessage: 'resume_from.stderr is 5, but the process has written 4 bytes to it',
      });
      await expect(
        begin(agent.client.process.connect({ ...byPid(pid), resumeFrom: { stdout: all }, skerryOffset: 0n })),
      ).rejects.toMatchObject({ code: Code.InvalidArgument });
      await resume({ stdout: all, stderr: 0n });
    });

    it('rule 6.3-22: a client that is strict about fields gets the offsets that it asked for and no others', async () => {
      const { pid } = await runScript(agent.client, 'echo text');
      const headers = { 'user-agent': 'connect-python' };
      const messages = [{ process: { pid } }];
      const connected = await postStream(agent.rpc, {
        procedure: 'process.Process/Connect',
        messages,
        headers,
      });
      expect(connected.envelopes.map(({ json }) => json)).toEqual([
        { event: { start: { pid } } },
        { event: { end: { exited: true, status: 'exit status 0' } } },
        {},
      ]);
      const asking = [{ process: { pid }, skerryOffset: '2' }];
      const attached = await postStream(agent.rpc, {
        procedure: 'process.Process/Connect',
        messages: asking,
        headers,
      });
      expect(attached.envelopes[0]?.json).toEqual({ event: { start: { pid, skerryOffset: '2' } } });
      const started = await postStream(agent.rpc, {
        procedure: 'process.Process/Start',
        messages: [sh('true')],
        headers,
      });
      expect(started.envelopes[0]?.json).toEqual({ event: { start: { pid: expect.any(Number) } } });
    });
  });
});
