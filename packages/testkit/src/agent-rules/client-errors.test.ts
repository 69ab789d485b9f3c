import {
  AuthenticationError,
  InvalidArgumentError,
  NotFoundError,
  Sandbox,
  SandboxUnavailableError,
} from '@skerry/sdk';
import * as official from 'e2b-newest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';

/** Both clients of one sandbox: ours, and the newest official one. */
interface Pair {
  ours: Sandbox;
  theirs: official.Sandbox;
}

let stack: SharedStack;
let pair: Pair;
const connect = async (): Promise<Pair> => {
  const { sandboxId } = await stack.createSandbox({ timeoutSeconds: 300 });
  const ours = await Sandbox.connect(sandboxId, stack.connection);
  const { apiKey, apiUrl, sandboxUrl } = stack.address;
  return { ours, theirs: await official.Sandbox.connect(sandboxId, { apiKey, apiUrl, sandboxUrl }) };
};
beforeAll(async () => {
  stack = await joinStack();
  pair = await connect();
});
afterAll(() => stack.leave());

/** What a call rejects with. */
const errorOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'no error',
    (error: unknown) => error,
  );

describe('the error that a client throws', () => {
  it('rule 8.2-1: for 400 says that an argument is invalid', async () => {
    const { ours, theirs } = pair;
    expect(await errorOf(ours.files.read('/etc'))).toBeInstanceOf(InvalidArgumentError);
    expect(await errorOf(theirs.files.read('/etc'))).toBeInstanceOf(official.InvalidArgumentError);
    expect(await errorOf(ours.files.write('/etc', 'x'))).toBeInstanceOf(InvalidArgumentError);
    expect(await errorOf(theirs.files.write('/etc', 'x'))).toBeInstanceOf(official.InvalidArgumentError);
  });

  it('rule 8.2-1: for 401 says that the caller is not known', async () => {
    const { ours, theirs } = pair;
    const user = 'ghost';
    expect(await errorOf(ours.files.read('/etc/hostname', { user }))).toBeInstanceOf(AuthenticationError);
    expect(await errorOf(theirs.files.read('/etc/hostname', { user }))).toBeInstanceOf(
      official.AuthenticationError,
    );
  });

  it('rule 8.2-1: for 404 says that there is no such file', async () => {
    const { ours, theirs } = pair;
    expect(await errorOf(ours.files.read('/missing'))).toBeInstanceOf(NotFoundError);
    expect(await errorOf(theirs.files.read('/missing'))).toBeInstanceOf(official.FileNotFoundError);
  });

  it('rule 8.2-1: for 507 says that there is not enough space', async () => {
    const { ours, theirs } = await connect();
    await ours.commands.run('fallocate -l $(( $(df --output=avail -B1 . | tail -1) - (2 << 20) )) big');
    const large = 'x'.repeat(8 << 20);
    expect(await errorOf(ours.files.write('more', large))).toMatchObject({ code: 'insufficient_storage' });
    expect(await errorOf(theirs.files.write('more', large))).toBeInstanceOf(official.NotEnoughSpaceError);
    await ours.kill();
  });

  it('rule 8.2-1, 8.2-2: for 502 says that the sandbox is gone, whose health is then false', async () => {
    const { ours, theirs } = await connect();
    expect([await ours.isRunning(), await theirs.isRunning()]).toEqual([true, true]);
    await ours.kill();
    expect([await ours.isRunning(), await theirs.isRunning()]).toEqual([false, false]);
    expect(await errorOf(ours.files.read('/etc/hostname'))).toBeInstanceOf(SandboxUnavailableError);
    expect(await errorOf(theirs.files.read('/etc/hostname'))).toBeInstanceOf(official.TimeoutError);
    expect(await errorOf(theirs.files.write('a', 'x'))).toBeInstanceOf(official.TimeoutError);
  });

  it('rule 8.2-2: is none where the answer has no meaning, and then health is not false', async () => {
    // A server that is no sandbox: neither client may take it for one that has ended.
    const elsewhere = { ...stack.connection, sandboxUrl: `${stack.address.apiUrl}/nowhere` };
    const lost = await Sandbox.connect(pair.ours.sandboxId, elsewhere);
    await expect(lost.isRunning()).rejects.toThrow();
  });
});
