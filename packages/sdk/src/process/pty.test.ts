import { Code, ConnectError } from '@connectrpc/connect';
import { Process, Signal } from '@skerry/envd-client/process';
import { expect, it } from 'vitest';
import { serveAgent } from '../testing/serve-agent.ts';
import { Pty } from './pty.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const start = { event: { event: { case: 'start' as const, value: { pid: 7 } } } };
const shown = (text: string) => ({
  event: {
    event: { case: 'data' as const, value: { output: { case: 'pty' as const, value: bytes(text) } } },
  },
});
const end = (exitCode: number, error?: string) => ({
  event: {
    event: { case: 'end' as const, value: { exitCode, exited: exitCode >= 0, ...(error ? { error } : {}) } },
  },
});
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));

it('opens an interactive login shell on a terminal and delivers bytes as they arrive', async () => {
  const requests: unknown[] = [];
  const { agent, seen } = await serveAgent((router) => {
    router.service(Process, {
      async *start(request) {
        requests.push(request);
        yield start;
        yield shown('> ');
        yield shown('\u001b[1mx');
        yield end(3, 'exit status 3');
      },
    });
  });
  const pieces: string[] = [];
  const handle = await new Pty(agent).create({
    cols: 100,
    rows: 30,
    cwd: '/srv',
    user: 'root',
    envs: { TERM: 'vt100', A: 'b' },
    onData: (piece) => {
      pieces.push(new TextDecoder().decode(piece));
    },
  });
  expect(handle.pid).toBe(7);
  expect(await handle.wait()).toEqual({ exitCode: 3, error: 'exit status 3' });
  expect(pieces).toEqual(['> ', '\u001b[1mx']);
  expect(requests).toMatchObject([
    {
      process: {
        cmd: '/bin/bash',
        args: ['-i', '-l'],
        cwd: '/srv',
        envs: { TERM: 'vt100', LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', A: 'b' },
      },
      pty: { size: { cols: 100, rows: 30 } },
    },
  ]);
  expect(seen[0]?.headers).toMatchObject({
    'keepalive-ping-interval': '50',
    authorization: 'Basic cm9vdDo=',
  });
  expect(seen[0]?.headers).not.toHaveProperty('connect-timeout-ms');
});

it('runs a command line in a login shell, until its timeout', async () => {
  const args: unknown[] = [];
  const { agent, seen } = await serveAgent((router) => {
    router.service(Process, {
      async *start(request) {
        args.push(request.process?.args);
        yield start;
        yield end(0);
      },
    });
  });
  const handle = await new Pty(agent).create({ cols: 80, rows: 24, command: 'top', timeoutMs: 5_000 });
  expect(await handle.wait()).toEqual({ exitCode: 0 });
  expect(args).toEqual([['-l', '-c', 'top']]);
  expect(seen[0]?.headers).toMatchObject({ 'connect-timeout-ms': '5000' });
});

it('types, resizes and kills, by handle and by pid', async () => {
  const calls: unknown[] = [];
  let kill = (): void => {};
  const { agent } = await serveAgent((router) => {
    router.service(Process, {
      async *connect(request) {
        if (request.process?.selector.value !== 7) throw new ConnectError('no process', Code.NotFound);
        yield start;
        await new Promise<void>((resolve) => {
          kill = resolve;
        });
        yield end(-1, 'signal: killed');
      },
      sendInput(request) {
        calls.push(request.input?.input);
        return {};
      },
      async streamInput(messages) {
        for await (const { event } of messages)
          if (event.case === 'data') calls.push(event.value.input?.input);
        return {};
      },
      update(request) {
        calls.push(request.pty?.size);
        return {};
      },
      sendSignal(request) {
        if (request.process?.selector.value !== 7) throw new ConnectError('no process', Code.NotFound);
        calls.push(request.signal);
        kill();
        return {};
      },
    });
  });
  const pty = new Pty(agent);
  await expect(pty.connect(8)).rejects.toMatchObject({ code: 'not_found' });
  const handle = await pty.connect(7);
  await handle.sendInput('ls\r');
  await pty.sendInput(7, bytes('\u0003'));
  await handle.streamInput(
    (async function* () {
      yield 'a';
    })(),
  );
  await handle.resize({ cols: 120, rows: 40 });
  await pty.resize(7, { cols: 1, rows: 2 });
  expect(await pty.kill(8)).toBe(false);
  expect(await handle.kill()).toBe(true);
  expect(await handle.wait()).toEqual({ exitCode: -1, error: 'signal: killed' });
  expect(calls).toMatchObject([
    { case: 'pty', value: bytes('ls\r') },
    { case: 'pty', value: bytes('\u0003') },
    { case: 'pty', value: bytes('a') },
    { cols: 120, rows: 40 },
    { cols: 1, rows: 2 },
    Signal.SIGKILL,
  ]);
});

it('kills the program it started when the signal aborts, and only stops listening on disconnect', async () => {
  const signals: Signal[] = [];
  const { agent } = await serveAgent((router) => {
    router.service(Process, {
      async *start(_request, { signal }) {
        yield start;
        await aborted(signal);
        signal.throwIfAborted();
      },
      sendSignal(request) {
        signals.push(request.signal);
        return {};
      },
    });
  });
  const pty = new Pty(agent);
  const left = await pty.create({ cols: 80, rows: 24 });
  left.disconnect();
  await expect(left.wait()).rejects.toMatchObject({ code: 'canceled' });
  expect(signals).toEqual([]);
  const controller = new AbortController();
  const opened = await pty.create({ cols: 80, rows: 24, signal: controller.signal });
  controller.abort();
  await expect(opened.wait()).rejects.toMatchObject({ code: 'canceled' });
  expect(signals).toEqual([Signal.SIGKILL]);
});

it('applies backpressure to the program while the listener is busy, and ends with its error when it throws', async () => {
  const cause = new Error('mine');
  const { agent } = await serveAgent((router) => {
    router.service(Process, {
      async *start(_request, { signal }) {
        yield start;
        yield shown('1');
        yield shown('2');
        await aborted(signal);
      },
    });
  });
  const order: string[] = [];
  const handle = await new Pty(agent).create({
    cols: 80,
    rows: 24,
    async onData(piece) {
      const text = new TextDecoder().decode(piece);
      order.push(`begin ${text}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push(`end ${text}`);
      if (text === '2') throw cause;
    },
  });
  await expect(handle.wait()).rejects.toMatchObject({ code: 'canceled', cause });
  expect(order).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2']);
});
