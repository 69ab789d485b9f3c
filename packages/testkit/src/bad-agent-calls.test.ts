import { setTimeout as delay } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { createEnvdClient } from '@skerry/envd-client';
import { Sandbox, SandboxError, SandboxUnavailableError } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, type StackSandbox, startStack, toRouting } from './stack.ts';

let stack: Stack;
let sandbox: StackSandbox;
let sdk: Sandbox;
beforeAll(async () => {
  stack = await startStack();
  sandbox = await stack.createSandbox({ timeoutSeconds: 300 });
  sdk = await Sandbox.connect(sandbox.sandboxId, stack.connection);
});
afterAll(() => stack.down());

const codeOf = async (promise: Promise<unknown>): Promise<{ code: string; message: string }> => {
  const error: unknown = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  const { code, rawMessage } = ConnectError.from(error);
  return { code: error === undefined ? 'none' : (Code[code] ?? ''), message: rawMessage };
};
const run = async (cmd: string, args: string[] = [], more: { cwd?: string; user?: string } = {}) => {
  const { user, ...config } = more;
  const agent = createEnvdClient({
    baseUrl: stack.address.sandboxUrl,
    accessToken: sandbox.accessToken,
    headers: toRouting(sandbox.sandboxId),
    ...(user === undefined ? {} : { user }),
  });
  const seen: string[] = [];
  let exitCode: number | undefined;
  for await (const { event } of agent.process.start({ process: { cmd, args, ...config } })) {
    seen.push(event?.event.case ?? '');
    if (event?.event.case === 'end') exitCode = event.event.value.exitCode;
  }
  return { seen: [...new Set(seen)], exitCode };
};

describe('commands', () => {
  it('of programs that do not exist end with 127, that may not run with 126', async () => {
    await sdk.files.write('/tmp/not-executable', 'x');
    expect(await run('no-such-program')).toEqual({ seen: ['start', 'data', 'end'], exitCode: 127 });
    expect(await run('/no/such/program')).toMatchObject({ exitCode: 127 });
    expect(await run('/tmp/not-executable')).toMatchObject({ exitCode: 126 });
    await expect(sdk.commands.run('no-such-program')).rejects.toMatchObject({ exitCode: 127 });
  });

  it('in a directory that does not exist are refused with its name', async () => {
    expect(await codeOf(run('true', [], { cwd: '/no/such/dir' }))).toEqual({
      code: 'InvalidArgument',
      message: expect.stringContaining('/no/such/dir'),
    });
    expect(await codeOf(run('true', [], { cwd: '/etc/hostname' }))).toMatchObject({
      code: 'InvalidArgument',
    });
  });

  it('that nobody started cannot be reached', async () => {
    const process = { selector: { case: 'pid', value: 999_999 } } as const;
    const { agent } = sandbox;
    expect(await codeOf(agent.process.sendSignal({ process, signal: 9 }))).toMatchObject({
      code: 'NotFound',
    });
    expect(await codeOf(agent.process.closeStdin({ process }))).toMatchObject({ code: 'NotFound' });
    expect(
      await codeOf(
        agent.process.sendInput({ process, input: { input: { case: 'stdin', value: new Uint8Array() } } }),
      ),
    ).toMatchObject({ code: 'NotFound' });
    expect(await sdk.commands.kill(999_999)).toBe(false);
  });
});

describe('a sandbox that is killed in the middle', () => {
  const doomed = async (): Promise<{ sandbox: StackSandbox; sdk: Sandbox }> => {
    const made = await stack.createSandbox();
    return { sandbox: made, sdk: await Sandbox.connect(made.sandboxId, stack.connection) };
  };

  it('of a command and of a watch ends both with an error that says so', async () => {
    const target = await doomed();
    const command = await target.sdk.commands.run('while sleep 0.1; do echo tick; done', {
      background: true,
    });
    const watch = await target.sdk.files.watchDir('/tmp');
    const watching = watch[Symbol.asyncIterator]().next();
    for await (const _ of command) break;
    const failures = Promise.allSettled([command.wait(), watching]);
    await target.sandbox.kill();
    for (const failure of await failures)
      expect(failure).toMatchObject({ status: 'rejected', reason: expect.any(SandboxUnavailableError) });
  });

  it('of a download breaks the download off', async () => {
    const target = await doomed();
    await target.sdk.commands.run('truncate -s 1G /tmp/big');
    const stream = await target.sdk.files.read('/tmp/big', { format: 'stream' });
    let bytes = 0;
    const reading = (async () => {
      for await (const chunk of stream) {
        if (bytes === 0) await target.sandbox.kill();
        bytes += chunk.length;
      }
    })();
    await expect(reading).rejects.toThrow(Error);
    expect(bytes).toBeLessThan(1 << 30);
  });

  it('of an upload rejects the upload', async () => {
    const target = await doomed();
    const chunk = new Uint8Array(1 << 16);
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (++sent === 50) await target.sandbox.kill();
        // Lets the broken connection be noticed: a source that never waits starves the event loop.
        await delay(1);
        controller.enqueue(chunk);
      },
    });
    await expect(target.sdk.files.write('/tmp/endless', endless)).rejects.toThrow(SandboxError);
  });

  it('leaves the others alone', async () => {
    expect(await sdk.isRunning()).toBe(true);
    expect((await sdk.commands.run('echo alive')).stdout).toBe('alive\n');
  });
});
