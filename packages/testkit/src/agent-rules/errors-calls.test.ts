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
import { createPlainCalls } from './plain-calls.ts';
import { createRpcCalls } from './rpc-calls.ts';

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

const { unary, stream } = createRpcCalls(createPlainCalls(() => ({ stack, sandbox })));
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

describe('the codes of the agent', () => {
  beforeAll(async () => {
    await ours.commands.run(
      'mkdir -p /tmp/c/full /tmp/c/other/below && touch /tmp/c/file && ln -s loop /tmp/c/loop && ln -s /tmp/c/loop /tmp/c/again',
    );
  });

  it.each([
    ['filesystem.Filesystem/Stat', { path: '~other/x' }, 400, 'invalid_argument'],
    ['filesystem.Filesystem/ListDir', { path: '/tmp/c/file' }, 400, 'invalid_argument'],
    ['filesystem.Filesystem/MakeDir', { path: '/tmp/c/file' }, 400, 'invalid_argument'],
    ['filesystem.Filesystem/ListDir', { path: '/tmp/c/loop' }, 400, 'failed_precondition'],
    ['filesystem.Filesystem/Stat', { path: '/tmp/c/none' }, 404, 'not_found'],
    ['filesystem.Filesystem/GetWatcherEvents', { watcherId: 'w0' }, 404, 'not_found'],
    ['process.Process/SendSignal', { process: { pid: 999_999 }, signal: 9 }, 404, 'not_found'],
    ['filesystem.Filesystem/MakeDir', { path: '/tmp/c/full' }, 409, 'already_exists'],
    ['filesystem.Filesystem/Move', { source: '/tmp/c/full', destination: '/tmp/c/other' }, 500, 'internal'],
    ['process.Process/SendInput', {}, 501, 'unimplemented'],
  ])('rule 8.4-1, 6.1-4: %s %j answers %i %s', async (procedure, body, status, code) => {
    const answer = await unary(procedure, body);
    expect([answer.status, answer.json]).toEqual([status, { code, message: expect.stringMatching(/./) }]);
    expect(answer.headers['content-type']).toBe('application/json');
  });

  it('rule 8.4-1: answer 401 for an unknown user and 500 for what has no code of its own', async () => {
    const ghost = { authorization: `Basic ${Buffer.from('ghost:').toString('base64')}` };
    const unknown = await unary('process.Process/List', {}, ghost);
    expect([unknown.status, unknown.json]).toMatchObject([401, { code: 'unauthenticated' }]);
    const terminal = await ours.pty.create({ cols: 80, rows: 24, onData: () => undefined });
    const closed = await unary('process.Process/CloseStdin', { process: { pid: terminal.pid } });
    expect([closed.status, closed.json]).toMatchObject([500, { code: 'unknown' }]);
    await terminal.kill();
  });

  it('rule 8.4-1, 6.1-4: are those of a stream too, whose status is 200', async () => {
    for (const [procedure, body, code] of [
      ['process.Process/Start', { process: { cmd: 'true', cwd: '/no/such' } }, 'invalid_argument'],
      ['process.Process/Start', {}, 'invalid_argument'],
      ['process.Process/Connect', { process: { tag: 'nobody' } }, 'not_found'],
      ['process.Process/Connect', {}, 'unimplemented'],
      ['filesystem.Filesystem/WatchDir', { path: '/tmp/c/none' }, 'not_found'],
      ['filesystem.Filesystem/WatchDir', { path: '/tmp/c/file' }, 'invalid_argument'],
    ] as const) {
      const { status, messages } = await stream(procedure, [body]);
      expect([status, messages.map(({ json }) => json)], procedure).toEqual([
        200,
        [{ error: { code, message: expect.stringMatching(/./) } }],
      ]);
    }
  });
});

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
