import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import type { StackSandbox } from '../stack/stack-client.ts';
import { type CutLine, createCutLine } from './cut-line.ts';
import { begin, byPid, runScript } from './process-events.ts';

let stack: SharedStack;
let sandbox: StackSandbox;
let line: CutLine;
/** The sandbox as it is reached over the line. */
let distant: Sandbox;
beforeAll(async () => {
  stack = await joinStack();
  sandbox = await stack.createSandbox({ timeoutSeconds: 300 });
  line = await createCutLine(Number(new URL(stack.address.apiUrl).port));
  const sandboxUrl = `http://127.0.0.1:${line.port}`;
  distant = await Sandbox.connect(sandbox.sandboxId, { ...stack.connection, sandboxUrl });
});
afterAll(async () => {
  await line[Symbol.asyncDispose]();
  await stack.leave();
});

describe('the library, when its connection is cut', () => {
  it('rule 6.3-22: it resumes the output after each cut, and the command runs once', async () => {
    // After every sixth line it waits until the connection has been cut.
    const script = `echo $$ >> /tmp/runs; for i in {1..30}; do
      echo "line $i"; echo "err $i" >&2
      if ((i % 6 == 0 && i < 30)); then until [ -e /tmp/cut-$i ]; do sleep 0.02; done; else sleep 0.05; fi
    done`;
    let seen = '';
    const onStdout = (text: string): void => {
      seen += text;
    };
    const running = distant.commands.run(script, { onStdout });
    const before = line.connectionCount;
    for (const last of [6, 12, 18, 24]) {
      await expect.poll(() => seen).toContain(`line ${last}\n`);
      line.cut();
      await runScript(sandbox.agent, `touch /tmp/cut-${last}`);
    }
    const { stdout, stderr } = await running;
    const numbers = Array.from({ length: 30 }, (_, at) => at + 1);
    expect(stdout).toBe(numbers.map((number) => `line ${number}\n`).join(''));
    expect(stderr).toBe(numbers.map((number) => `err ${number}\n`).join(''));
    expect(line.connectionCount - before).toBeGreaterThanOrEqual(4);
    expect((await sandbox.agent.files.GET('/health')).response.status).toBe(204);
    expect((await distant.commands.run('wc -l < /tmp/runs')).stdout).toBe('1\n');
  });

  it('rule 6.3-22: it resumes a terminal too, with the output written meanwhile', async () => {
    let screen = '';
    const decoder = new TextDecoder();
    const terminal = await distant.pty.create({
      cols: 80,
      rows: 24,
      command:
        'stty -echo; echo ready; read a; for i in {1..20}; do echo "row $i"; sleep 0.1; done; echo "[$a]"',
      onData: (bytes) => {
        screen += decoder.decode(bytes, { stream: true });
      },
    });
    await expect.poll(() => screen).toBe('ready\r\n');
    await terminal.sendInput('typed\r');
    await delay(500);
    line.cut({ staysDown: true });
    await delay(700);
    line.mend();
    expect(await terminal.wait()).toEqual({ exitCode: 0 });
    const rows = Array.from({ length: 20 }, (_, at) => `row ${at + 1}\r\n`).join('');
    expect(screen).toBe(`ready\r\n${rows}[typed]\r\n`);
  });

  it('rule 6.3-22: it reports the offset and the length of a gap, and the output behind it is complete', async () => {
    const sizeBytes = 25_000_000;
    const lost: { offset: number; lostBytes: number }[] = [];
    const handle = await distant.commands.run(
      `echo first; until [ -e /tmp/read ]; do sleep 0.02; done; head -c ${sizeBytes} /dev/zero; sleep 1; echo last`,
      {
        background: true,
        onOutputLost: (gap) => lost.push(gap),
      },
    );
    for await (const piece of handle) if ('stdout' in piece && piece.stdout === 'first\n') break;
    // Until all is written, which may take longer than the library tries in vain.
    line.cut({ staysDown: 'waiting' });
    // Another client reads everything, so the command does not wait for the one that is cut off.
    const other = await begin(sandbox.agent.process.connect({ ...byPid(handle.pid), skerryOffset: 0n }));
    await runScript(sandbox.agent, 'touch /tmp/read');
    let otherBytes = 0;
    for await (const { event } of other.rest) {
      if (event?.event.case === 'data') otherBytes += event.event.value.output.value?.length ?? 0;
      if (otherBytes >= sizeBytes) line.mend();
    }
    const { stdout } = await handle.wait();
    const totalBytes = 'first\n'.length + sizeBytes + 'last\n'.length;
    expect(otherBytes).toBe(totalBytes);
    expect(lost).toEqual([{ offset: 6, lostBytes: expect.any(Number) }]);
    const [{ lostBytes } = { lostBytes: 0 }] = lost;
    expect(lostBytes).toBeGreaterThan(10_000_000);
    expect(stdout.length).toBe(totalBytes - lostBytes);
    expect(stdout.endsWith('\0last\n')).toBe(true);
  });
});
