import { Code, ConnectError } from '@connectrpc/connect';
import { createEnvdClient, type EnvdClient } from '@skerry/envd-client';
import {
  AuthenticationError,
  InvalidArgumentError,
  NotFoundError,
  Sandbox,
  SandboxUnavailableError,
  TimeoutError,
} from '@skerry/sdk';
import * as official from 'e2b-newest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { type StackSandbox, toRouting } from '../stack/stack-client.ts';

let stack: SharedStack;
let sandbox: StackSandbox;
let ours: Sandbox;
let theirs: official.Sandbox;
const connectTheirs = (sandboxId: string): Promise<official.Sandbox> => {
  const { apiKey, apiUrl, sandboxUrl } = stack.address;
  return official.Sandbox.connect(sandboxId, { apiKey, apiUrl, sandboxUrl });
};
beforeAll(async () => {
  stack = await joinStack();
  sandbox = await stack.createSandbox({ timeoutSeconds: 300 });
  ours = await Sandbox.connect(sandbox.sandboxId, stack.connection);
  theirs = await connectTheirs(sandbox.sandboxId);
});
afterAll(() => stack.leave());

const errorOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'no error',
    (error: unknown) => error,
  );
/** The Connect code that the generated client sees. */
const codeOf = async (call: Promise<unknown>): Promise<string> => {
  const error = await errorOf(call);
  return error instanceof ConnectError ? (Code[error.code] ?? '') : String(error);
};

describe('what clients make of codes', () => {
  it('rule 8.3-1: invalid_argument, unauthenticated and not_found are errors of that kind', async () => {
    for (const [call, mine, official_] of [
      [{ cwd: '/no/such' }, InvalidArgumentError, official.InvalidArgumentError],
      [{ user: 'ghost' }, AuthenticationError, official.AuthenticationError],
    ] as const) {
      expect(await errorOf(ours.commands.run('true', call))).toBeInstanceOf(mine);
      expect(await errorOf(theirs.commands.run('true', call))).toBeInstanceOf(official_);
    }
    expect(await errorOf(ours.commands.connect(999_999))).toBeInstanceOf(NotFoundError);
    expect(await errorOf(theirs.commands.connect(999_999))).toBeInstanceOf(official.NotFoundError);
    expect(await errorOf(ours.files.list('/no/such'))).toBeInstanceOf(NotFoundError);
    expect(await errorOf(theirs.files.list('/no/such'))).toBeInstanceOf(official.FileNotFoundError);
  });

  it('rule 8.3-3: deadline_exceeded is the timeout of a command', async () => {
    expect(await errorOf(ours.commands.run('sleep 60', { timeoutMs: 300 }))).toBeInstanceOf(TimeoutError);
    const late = await errorOf(theirs.commands.run('sleep 60', { timeoutMs: 300 }));
    expect(late).toBeInstanceOf(official.TimeoutError);
  });

  it('rule 8.3-4: a directory that is there, a path that is not and a process that is gone are false', async () => {
    for (const { files, commands } of [ours, theirs]) {
      expect(await files.makeDir('/tmp')).toBe(false);
      expect(await files.exists('/no/such')).toBe(false);
      expect(await commands.kill(999_999)).toBe(false);
    }
  });

  it('rule 8.3-2, 8.4-3: a sandbox that is killed breaks its streams, is not there for new ones and has no health', async () => {
    const { sandboxId, kill } = await stack.createSandbox();
    const [mine, other] = [
      await Sandbox.connect(sandboxId, stack.connection),
      await connectTheirs(sandboxId),
    ];
    const running = await mine.commands.run('sleep 1000', { background: true });
    const foreign = await other.commands.run('sleep 1000', { background: true });
    const broken = Promise.all([errorOf(running.wait()), errorOf(foreign.wait())]);
    await kill();
    const [own, others] = await broken;
    expect(own).toBeInstanceOf(SandboxUnavailableError);
    expect(others).toBeInstanceOf(official.TimeoutError);
    const health = await fetch(`${stack.address.sandboxUrl}/health`, { headers: toRouting(sandboxId) });
    expect(health.status).toBe(502);
    expect(await errorOf(mine.commands.run('true'))).toBeInstanceOf(SandboxUnavailableError);
    expect(await errorOf(mine.files.watchDir('/tmp'))).toBeInstanceOf(SandboxUnavailableError);
    const late = await errorOf(other.commands.run('true'));
    expect(late).toBeInstanceOf(official.SandboxError);
    expect(late).toSatisfy(
      (error) => error instanceof official.TimeoutError || error instanceof official.SandboxNotFoundError,
    );
  });
});

describe('an RPC that meets a plain answer', () => {
  const client = (options: { path?: string; headers?: Record<string, string>; token?: string }): EnvdClient =>
    createEnvdClient({
      baseUrl: stack.address.sandboxUrl + (options.path ?? ''),
      headers: options.headers ?? toRouting(sandbox.sandboxId),
      accessToken: options.token ?? sandbox.accessToken,
    });

  it('rule 8.4-2: is read by its status: 401 unauthenticated, 404 unimplemented, 502 unavailable', async () => {
    for (const [options, code] of [
      [{ token: 'wrong' }, 'Unauthenticated'],
      [{ path: '/nowhere' }, 'Unimplemented'],
      [{ headers: toRouting('inobody') }, 'Unavailable'],
      [{ headers: { 'E2b-Sandbox-Id': sandbox.sandboxId } }, 'Internal'],
    ] as const) {
      const { process, filesystem } = client(options);
      expect(await codeOf(process.list({}))).toBe(code);
      const events = filesystem.watchDir({ path: '/tmp' })[Symbol.asyncIterator]();
      expect(await codeOf(events.next())).toBe(code);
    }
  });
});
