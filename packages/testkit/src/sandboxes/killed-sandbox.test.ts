import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox, SandboxError, SandboxUnavailableError } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import type { StackSandbox } from '../stack/stack-client.ts';

let stack: SharedStack;
let sdk: Sandbox;
beforeAll(async () => {
  stack = await joinStack();
  const sandbox = await stack.createSandbox({ timeoutSeconds: 300 });
  sdk = await Sandbox.connect(sandbox.sandboxId, stack.connection);
});
afterAll(() => stack.leave());

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
    expect(bytes).toBeGreaterThan(0);
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
