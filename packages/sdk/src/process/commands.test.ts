import { Code, ConnectError } from '@connectrpc/connect';
import { Process, Signal } from '@skerry/envd-client/process';
import { expect, it } from 'vitest';
import { InvalidArgumentError, SandboxUnavailableError, TimeoutError } from '../errors.ts';
import { sandboxId, serveAgent } from '../testing/serve-agent.ts';
import { CommandExitError } from './command-result.ts';
import { Commands } from './commands.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const start = { event: { event: { case: 'start' as const, value: { pid: 7 } } } };
const keepalive = { event: { event: { case: 'keepalive' as const, value: {} } } };
const stdout = (text: string) => ({
  event: {
    event: { case: 'data' as const, value: { output: { case: 'stdout' as const, value: bytes(text) } } },
  },
});
const stderr = (text: string) => ({
  event: {
    event: { case: 'data' as const, value: { output: { case: 'stderr' as const, value: bytes(text) } } },
  },
});
const end = (exitCode: number, error?: string) => ({
  event: {
    event: { case: 'end' as const, value: { exitCode, exited: exitCode >= 0, ...(error ? { error } : {}) } },
  },
});

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));

it('runs a login shell and passes output to listeners as it arrives and complete at the end', async () => {
  const requests: unknown[] = [];
  let release = (): void => {};
  const { agent, seen } = await serveAgent((router) => {
    router.service(Process, {
      async *start(request) {
        requests.push(request);
        yield start;
        const heard = new Promise<void>((resolve) => {
          release = resolve;
        });
        yield stdout('one ');
        await heard;
        yield keepalive;
        yield stderr('warn');
        yield stdout('two');
        yield end(0);
      },
    });
  });
  const pieces: string[] = [];
  const result = await new Commands(agent).run('echo', {
    cwd: '/srv',
    envs: { A: 'b' },
    user: 'root',
    onStdout(text) {
      pieces.push(text);
      release();
    },
  });
  expect(result).toEqual({ exitCode: 0, stdout: 'one two', stderr: 'warn' });
  expect(pieces).toEqual(['one ', 'two']);
  expect(requests).toMatchObject([
    {
      process: { cmd: '/bin/bash', args: ['-l', '-c', 'echo'], cwd: '/srv', envs: { A: 'b' } },
      stdin: false,
    },
  ]);
  expect(seen[0]?.headers).toMatchObject({
    'connect-timeout-ms': '60000',
    'keepalive-ping-interval': '50',
    'e2b-sandbox-id': sandboxId,
    'e2b-sandbox-port': '49983',
    'x-access-token': 'secret',
    authorization: 'Basic cm9vdDo=',
  });
  expect(seen[0]?.headers).not.toHaveProperty('x-api-key');
});

it('throws an error with the fields of a result when the exit code is not 0', async () => {
  const { agent } = await serveAgent((router) => {
    router.service(Process, {
      async *start() {
        yield start;
        yield stderr('no');
        yield end(3, 'exit status 3');
      },
    });
  });
  const error: unknown = await new Commands(agent).run('false').catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(CommandExitError);
  expect(error).toMatchObject({
    code: 'command_failed',
    exitCode: 3,
    stdout: '',
    stderr: 'no',
    error: 'exit status 3',
  });
});

it('sends no time limit for 0', async () => {
  const { agent, seen } = await serveAgent((router) => {
    router.service(Process, {
      async *start() {
        yield start;
        yield end(0);
      },
    });
  });
  await new Commands(agent).run('true', { timeoutMs: 0 });
  expect(seen[0]?.headers).not.toHaveProperty('connect-timeout-ms');
});

it('returns a handle in the background: iteration, output so far, stdin, kill', async () => {
  const calls: unknown[] = [];
  let kill = (): void => {};
  const { agent } = await serveAgent((router) => {
    router.service(Process, {
      async *start() {
        yield start;
        yield stdout('ready');
        await new Promise<void>((resolve) => {
          kill = resolve;
        });
        yield end(-1, 'signal: killed');
      },
      sendInput(request) {
        calls.push(request.input?.input.value);
        return {};
      },
      closeStdin(request) {
        calls.push(request.process?.selector);
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
  const commands = new Commands(agent);
  const handle = await commands.run('server', { background: true, stdin: true });
  expect(handle.pid).toBe(7);
  const iterator = handle[Symbol.asyncIterator]();
  expect((await iterator.next()).value).toEqual({ stdout: 'ready' });
  expect(handle.stdout).toBe('ready');
  await handle.sendStdin('in');
  await handle.closeStdin();
  expect(await handle.kill()).toBe(true);
  await expect(handle.wait()).rejects.toMatchObject({
    exitCode: -1,
    error: 'signal: killed',
    stdout: 'ready',
  });
  expect((await iterator.next()).done).toBe(true);
  expect(await commands.kill(8)).toBe(false);
  expect(calls).toMatchObject([bytes('in'), { case: 'pid', value: 7 }, Signal.SIGKILL]);
});

it('kills the command when the signal aborts, and rejects after that', async () => {
  const signals: Signal[] = [];
  const { agent } = await serveAgent((router) => {
    router.service(Process, {
      async *start(_request, { signal }) {
        yield start;
        yield stdout('ready');
        await aborted(signal);
        signal.throwIfAborted();
      },
      sendSignal(request) {
        signals.push(request.signal);
        return {};
      },
    });
  });
  const controller = new AbortController();
  const result = new Commands(agent).run('sleep 100', {
    signal: controller.signal,
    onStdout: () => controller.abort(),
  });
  await expect(result).rejects.toMatchObject({ code: 'canceled' });
  expect(signals).toEqual([Signal.SIGKILL]);
});

it.each([true, false])(
  'kills a command also when the signal aborts before its start is known',
  async (background) => {
    const controller = new AbortController();
    const killed: unknown[] = [];
    const { agent } = await serveAgent((router) => {
      router.service(Process, {
        async *start() {
          controller.abort();
          // The client has aborted before the answer leaves.
          await new Promise((resolve) => setTimeout(resolve, 50));
          yield start;
        },
        sendSignal(request) {
          killed.push(request.process?.selector.value);
          return {};
        },
      });
    });
    const { signal } = controller;
    const result = new Commands(agent).run('sleep 100', { background, signal });
    await expect(result).rejects.toMatchObject({ code: 'canceled' });
    expect(killed).toEqual([7]);
  },
);

it('stops listening on disconnect, without a signal to the command', async () => {
  const signals: Signal[] = [];
  const { agent } = await serveAgent((router) => {
    router.service(Process, {
      async *connect(request, { signal }) {
        if (request.process?.selector.value !== 7) throw new ConnectError('no process', Code.NotFound);
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
  const commands = new Commands(agent);
  const handle = await commands.connect(7);
  handle.disconnect();
  await expect(handle.wait()).rejects.toMatchObject({ code: 'canceled' });
  expect(signals).toEqual([]);
  await expect(commands.connect(8)).rejects.toMatchObject({ code: 'not_found', message: 'no process' });
});

it('reports why a stream was lost: timeout, sandbox, or connection', async () => {
  let health = 204;
  const served = await serveAgent(
    (router) => {
      router.service(Process, {
        async *start(request, { signal }) {
          yield start;
          if (request.process?.args.at(-1) === 'limit')
            throw new ConnectError('too long', Code.DeadlineExceeded);
          if (request.process?.args.at(-1) === 'short') return;
          if (request.process?.args.at(-1) === 'slow') await aborted(signal);
          await new Promise((resolve) => setTimeout(resolve, 50));
          served.seen.at(-1)?.socket.destroy();
          await aborted(signal);
        },
      });
    },
    (_request, response) => {
      response.writeHead(health).end();
    },
  );
  const commands = new Commands(served.agent);
  await expect(commands.run('limit')).rejects.toBeInstanceOf(TimeoutError);
  await expect(commands.run('slow', { timeoutMs: 50 })).rejects.toBeInstanceOf(TimeoutError);
  await expect(commands.run('cut')).rejects.toMatchObject({ code: 'connection_failed' });
  await expect(commands.run('short')).rejects.toMatchObject({ code: 'connection_failed' });
  health = 502;
  await expect(commands.run('cut')).rejects.toBeInstanceOf(SandboxUnavailableError);
});

it('maps errors before the start of the command', async () => {
  const { agent } = await serveAgent((router) => {
    router.service(Process, {
      async *start(request) {
        if (request.process?.cwd) throw new ConnectError('cwd: no such directory', Code.InvalidArgument);
        yield start;
      },
    });
  });
  await expect(new Commands(agent).run('ls', { cwd: '/nowhere' })).rejects.toBeInstanceOf(
    InvalidArgumentError,
  );
});

it('rejects when no start message arrives within the request timeout', async () => {
  const { agent } = await serveAgent((router) => {
    router.service(Process, {
      async *start(_request, { signal }) {
        await aborted(signal);
        yield start;
      },
    });
  });
  await expect(new Commands(agent).run('ls', { requestTimeoutMs: 50 })).rejects.toMatchObject({
    code: 'timeout',
    message: 'no response within 50 ms',
  });
});

it('streams stdin in order over one request and lists processes', async () => {
  const received: unknown[] = [];
  const { agent, seen } = await serveAgent((router) => {
    router.service(Process, {
      async streamInput(messages) {
        for await (const { event } of messages) {
          received.push(
            event.case === 'data'
              ? String(new TextDecoder().decode(event.value.input?.input.value))
              : event.value?.$typeName,
          );
        }
        return {};
      },
      list: () => ({ processes: [{ pid: 7, config: { cmd: 'cat', args: ['-'] }, tag: 't' }] }),
    });
  });
  async function* source() {
    yield 'a';
    yield '';
    yield bytes('b');
  }
  const commands = new Commands(agent);
  await commands.streamStdin(7, source());
  expect(received).toEqual(['process.StreamInputRequest.StartEvent', 'a', 'b']);
  expect(seen).toHaveLength(1);
  expect(await commands.list()).toEqual([{ pid: 7, cmd: 'cat', args: ['-'], envs: {}, tag: 't' }]);
});

it('ends with the error of a listener that throws', async () => {
  const { agent } = await serveAgent((router) => {
    router.service(Process, {
      async *start(_request, { signal }) {
        yield start;
        yield stdout('x');
        await aborted(signal);
      },
    });
  });
  const cause = new Error('mine');
  const result = new Commands(agent).run('yes', {
    onStdout() {
      throw cause;
    },
  });
  await expect(result).rejects.toMatchObject({ code: 'canceled', cause });
});
