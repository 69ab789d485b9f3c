import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { Signal, type StreamInputRequestSchema } from '@skerry/envd-client/process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectOutput } from '../testing/collect-output.ts';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

type StreamInputMessage = MessageInitShape<typeof StreamInputRequestSchema>;

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
  await agent.initialize({
    sandboxId: 'i1',
    templateId: 't1',
    envVars: { GREETING: 'hi' },
    defaultUser: 'user',
  });
});
afterAll(() => agent.stop());

const asUser = (name: string) => ({ headers: { authorization: `Basic ${btoa(`${name}:`)}` } });
const sh = (script: string) => ({ process: { cmd: '/bin/sh', args: ['-c', script] } });
const run = (script: string) => collectOutput(agent.processes().start(sh(script)));
const byPid = (pid: number | undefined) => ({
  process: { selector: { case: 'pid' as const, value: pid ?? 0 } },
});
const byTag = (tag: string) => ({ process: { selector: { case: 'tag' as const, value: tag } } });
const stdin = (text: string) => ({ input: { case: 'stdin' as const, value: Buffer.from(text) } });

/** Starts a process and returns its pid and its rest once the start event is there. */
const begin = async (request: Parameters<ReturnType<TestAgent['processes']>['start']>[0]) => {
  const abort = new AbortController();
  const stream = agent.processes().start(request, { signal: abort.signal })[Symbol.asyncIterator]();
  const first = await stream.next();
  const event = first.value?.event?.event;
  if (event?.case !== 'start') throw new Error(`first event is ${event?.case}`);
  return { pid: event.value.pid as number, rest: { [Symbol.asyncIterator]: () => stream }, abort };
};

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await delay(5);
};

describe('Start', () => {
  it('streams start, output of both kinds and the end, in this order', async () => {
    const { kinds, stdout, stderr, end } = await run('echo out; sleep 0.05; echo err >&2; exit 3');
    expect(kinds).toEqual(['start', 'stdout', 'stderr', 'end']);
    expect([stdout, stderr]).toEqual(['out\n', 'err\n']);
    expect(end).toEqual({ exitCode: 3, exited: true, status: 'exit status 3', error: 'exit status 3' });
  });

  it('leaves the error out when the exit code is 0', async () => {
    expect((await run('true')).end).toEqual({ exitCode: 0, exited: true, status: 'exit status 0' });
  });

  it('reports a process that a signal ended with -1 and the name of the signal', async () => {
    expect((await run('kill -KILL $$')).end).toEqual({
      exitCode: -1,
      exited: false,
      status: 'signal: killed',
      error: 'signal: killed',
    });
    expect((await run('kill -SEGV $$')).end?.status).toBe('signal: segmentation fault');
  });

  it('sends the same messages in the binary codec', async () => {
    const { stdout, end } = await collectOutput(
      agent.processes({ binary: true }).start(sh('echo out; exit 1')),
    );
    expect([stdout, end?.exitCode]).toEqual(['out\n', 1]);
  });

  it('answers a program that is missing like a shell: a line on stderr and exit code 127', async () => {
    const missing = await collectOutput(agent.processes().start({ process: { cmd: 'no-such-program' } }));
    expect(missing.kinds).toEqual(['start', 'stderr', 'end']);
    expect(missing.stderr).toBe('no-such-program: command not found\n');
    expect(missing.end).toMatchObject({ exitCode: 127, exited: true });
    const path = await collectOutput(agent.processes().start({ process: { cmd: '/no/such' } }));
    expect([path.stderr, path.end?.exitCode]).toEqual(['/no/such: No such file or directory\n', 127]);
  });

  it('answers a file that is not executable with exit code 126', async () => {
    const path = join(agent.dir, 'plain.txt');
    writeFileSync(path, 'no program');
    const { stderr, end } = await collectOutput(agent.processes().start({ process: { cmd: path } }));
    expect([stderr, end?.exitCode]).toEqual([`${path}: Permission denied\n`, 126]);
  });

  it('lets programs open /dev/stdout and /dev/stderr', async () => {
    const { stdout, stderr } = await run('echo a > /dev/stdout; echo b > /dev/stderr');
    expect([stdout, stderr]).toEqual(['a\n', 'b\n']);
  });

  it('never sends an empty chunk or one above 32 KiB, and loses nothing', async () => {
    const { stdout, chunkBytes } = await run('head -c 3000000 /dev/zero | tr "\\0" x');
    expect(stdout.length).toBe(3_000_000);
    expect(Math.max(...chunkBytes)).toBeLessThanOrEqual(32 * 1024);
    expect(Math.min(...chunkBytes)).toBeGreaterThan(0);
  });

  it('waits with the end for a background child that holds the output open', async () => {
    const started = performance.now();
    const { stdout, end } = await run('(sleep 0.4; echo late) & echo early');
    expect([stdout, end?.exitCode]).toEqual(['early\nlate\n', 0]);
    expect(performance.now() - started).toBeGreaterThan(350);
  });

  it('gives /dev/null as stdin when the caller wants none', async () => {
    const { stdout, end } = await collectOutput(
      agent.processes().start({ ...sh('cat; readlink /proc/self/fd/0'), stdin: false }),
    );
    expect([stdout, end?.exitCode]).toEqual(['/dev/null\n', 0]);
  });

  it.each([
    ['no process', {}, Code.InvalidArgument],
    ['an empty command', { process: { cmd: '' } }, Code.InvalidArgument],
    ['a missing cwd', { process: { cmd: 'true', cwd: '/no/such' } }, Code.InvalidArgument],
    ['a file as cwd', { process: { cmd: 'true', cwd: '/etc/passwd' } }, Code.InvalidArgument],
    ['the home of another user as cwd', { process: { cmd: 'true', cwd: '~root' } }, Code.InvalidArgument],
    ['a NUL byte', { process: { cmd: 'true', args: ['a\0b'] } }, Code.InvalidArgument],
    [
      'a variable with = in its name',
      { process: { cmd: 'true', envs: { 'A=B': 'c' } } },
      Code.InvalidArgument,
    ],
    ['a terminal, which comes later', { process: { cmd: 'true' }, pty: {} }, Code.Unimplemented],
  ])('refuses %s', async (_what, request, code) => {
    await expect(collectOutput(agent.processes().start(request))).rejects.toMatchObject({ code });
  });

  it('refuses a cwd that the user may not enter', async () => {
    const path = join(agent.dir, 'private');
    mkdirSync(path, { mode: 0o700 });
    const request = { process: { cmd: 'true', cwd: path } };
    await expect(collectOutput(agent.processes().start(request))).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
    const asRoot = await collectOutput(agent.processes(asUser('root')).start(request));
    expect(asRoot.end?.exitCode).toBe(0);
  });
});

describe('the user of a process', () => {
  it('has the ids and the supplementary groups of its account', async () => {
    expect((await run('id -u; id -g; id -G')).stdout).toBe('1000\n1000\n1000 2001 2002\n');
    const other = await collectOutput(agent.processes(asUser('root')).start(sh('id -u; id -g')));
    expect(other.stdout).toBe('0\n0\n');
  });

  it('leaves the agent itself as it was', () => {
    const status = readFileSync(`/proc/${agent.pid}/status`, 'utf8');
    expect(status).toMatch(/^Uid:\t0\t0\t0\t0$/m);
    expect(status).toMatch(/^Gid:\t0\t0\t0\t0$/m);
    const own = readFileSync('/proc/self/status', 'utf8');
    expect(/^CapEff:.*$/m.exec(status)?.[0]).toBe(/^CapEff:.*$/m.exec(own)?.[0]);
  });

  it('has no capability left', async () => {
    const { stdout } = await run('grep -E "^Cap(Eff|Prm)" /proc/self/status');
    expect(stdout).toBe('CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n');
  });

  it('is chosen by the kernel before the agent when memory runs out', async () => {
    const { stdout } = await run('cat /proc/self/oom_score_adj');
    const ofAgent = Number(readFileSync(`/proc/${agent.pid}/oom_score_adj`, 'utf8'));
    expect(Number(stdout)).toBeGreaterThan(ofAgent);
  });
});

describe('the environment of a process', () => {
  const environment = async (envs: Record<string, string> = {}): Promise<Record<string, string>> => {
    const { stdout } = await collectOutput(agent.processes().start({ process: { cmd: 'env', envs } }));
    return Object.fromEntries(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split('=', 2)),
    );
  };

  it('holds PATH, the user, the variables of the sandbox and its ids, and nothing else', async () => {
    expect(await environment()).toEqual({
      PATH: process.env.PATH,
      HOME: agent.home,
      USER: 'user',
      LOGNAME: 'user',
      GREETING: 'hi',
      E2B_SANDBOX: 'true',
      E2B_SANDBOX_ID: 'i1',
      E2B_TEMPLATE_ID: 't1',
    });
  });

  it('is overridden by the request, the names of the agent included', async () => {
    const variables = await environment({
      GREETING: 'ho',
      E2B_SANDBOX_ID: 'mine',
      TERM: 'dumb',
      HOME: '/elsewhere',
    });
    expect(variables).toMatchObject({
      GREETING: 'ho',
      E2B_SANDBOX_ID: 'mine',
      TERM: 'dumb',
      HOME: '/elsewhere',
    });
  });

  it('does not let variables of the sandbox take the names of the agent', async () => {
    await agent.initialize({ envVars: { E2B_SANDBOX: 'no', USER: 'somebody', ONLY: 'this' } });
    const variables = await environment();
    expect(variables).toMatchObject({ E2B_SANDBOX: 'true', USER: 'somebody', ONLY: 'this' });
    expect(variables).not.toHaveProperty('GREETING');
  });

  it('starts in the home of the user, or where cwd says, relative to it', async () => {
    mkdirSync(join(agent.home, 'sub'), { recursive: true });
    const pwd = async (cwd?: string): Promise<string> => {
      const process = cwd === undefined ? { cmd: 'pwd' } : { cmd: 'pwd', cwd };
      return (await collectOutput(agent.processes().start({ process }))).stdout.trimEnd();
    };
    expect(await pwd()).toBe(agent.home);
    expect(await pwd('sub')).toBe(join(agent.home, 'sub'));
    expect(await pwd('~/sub')).toBe(join(agent.home, 'sub'));
    expect(await pwd('/')).toBe('/');
    await agent.initialize({ defaultWorkdir: agent.dir });
    expect(await pwd()).toBe(agent.dir);
    expect(await pwd('sub')).toBe(join(agent.home, 'sub'));
  });
});

describe('the life of a process', () => {
  it('outlives the caller that started it', async () => {
    const marker = join(agent.dir, 'survived');
    const { pid, abort } = await begin(sh(`sleep 0.2; echo yes > ${marker}`));
    abort.abort();
    await until(() => existsSync(marker) && !isAlive(pid));
    expect(readFileSync(marker, 'utf8')).toBe('yes\n');
  });

  it('ends at the deadline of Start by SIGKILL, with deadline_exceeded', async () => {
    const stream = agent.processes().start(sh('trap "" TERM; echo $$; sleep 30'), { timeoutMs: 300 });
    let pid = 0;
    const read = async (): Promise<void> => {
      for await (const { event } of stream) if (event?.event.case === 'start') pid = event.event.value.pid;
    };
    await expect(read()).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await until(() => !isAlive(pid));
  });

  it('ends at the deadline of Start even when the caller has gone before', async () => {
    const abort = new AbortController();
    const stream = agent.processes().start(sh('sleep 30'), { timeoutMs: 400, signal: abort.signal });
    const first = await stream[Symbol.asyncIterator]().next();
    const event = first.value?.event?.event;
    abort.abort();
    const pid = event?.case === 'start' ? event.value.pid : 0;
    await delay(100);
    expect(isAlive(pid)).toBe(true);
    await until(() => !isAlive(pid));
  });

  it('has no deadline when the timeout is 0', async () => {
    const headers = { 'connect-timeout-ms': '0' };
    const { stdout } = await collectOutput(agent.processes({ headers }).start(sh('sleep 0.1; echo done')));
    expect(stdout).toBe('done\n');
  });

  it('refuses a timeout that is no number', async () => {
    const headers = { 'connect-timeout-ms': 'soon' };
    await expect(agent.processes({ headers }).list({})).rejects.toMatchObject({ code: Code.InvalidArgument });
  });
});

describe('Connect', () => {
  it('starts with start, gives only new output, and any number of callers the same', async () => {
    const { pid, rest } = await begin(sh('echo old; read line; echo "new $line"'));
    await delay(100);
    const first = collectOutput(agent.processes().connect(byPid(pid)));
    const second = collectOutput(agent.processes().connect(byPid(pid)));
    await delay(100);
    await agent.processes().sendInput({ ...byPid(pid), input: stdin('x\n') });
    const all = await Promise.all([first, second, collectOutput(rest)]);
    expect(all.map(({ stdout }) => stdout)).toEqual(['new x\n', 'new x\n', 'old\nnew x\n']);
    expect(all[0].kinds).toEqual(['start', 'stdout', 'end']);
  });

  it('still tells the end of a process that is gone, without its output', async () => {
    const { pid } = await run('echo x; exit 7');
    const { kinds, end } = await collectOutput(agent.processes().connect(byPid(pid)));
    expect([kinds, end?.exitCode]).toEqual([['start', 'end'], 7]);
  });

  it('ends only the stream at its deadline', async () => {
    const { pid, rest } = await begin(sh('sleep 0.5; echo alive'));
    const short = collectOutput(agent.processes().connect(byPid(pid), { timeoutMs: 100 }));
    await expect(short).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    expect((await collectOutput(rest)).stdout).toBe('alive\n');
  });

  it('finds the most recently started of several processes with one tag, past others', async () => {
    await begin({ ...sh('sleep 5'), tag: 'other' });
    const older = await begin({ ...sh('sleep 5'), tag: 'same' });
    const newer = await begin({ ...sh('sleep 5'), tag: 'same' });
    await agent.processes().sendSignal({ ...byTag('same'), signal: Signal.SIGKILL });
    expect((await collectOutput(newer.rest)).end?.status).toBe('signal: killed');
    expect(isAlive(older.pid)).toBe(true);
    for (const tag of ['other', 'same']) {
      const target = tag === 'same' ? byPid(older.pid) : byTag(tag);
      await agent.processes().sendSignal({ ...target, signal: Signal.SIGKILL });
    }
  });

  it('answers not_found for what was never started and unimplemented for an empty selector', async () => {
    const processes = agent.processes();
    await expect(collectOutput(processes.connect(byPid(1)))).rejects.toMatchObject({ code: Code.NotFound });
    await expect(collectOutput(processes.connect(byTag('none')))).rejects.toMatchObject({
      code: Code.NotFound,
    });
    await expect(collectOutput(processes.connect({}))).rejects.toMatchObject({ code: Code.Unimplemented });
  });

  it('sends keepalives on a silent stream at the asked interval, never before start', async () => {
    const headers = { 'keepalive-ping-interval': '1' };
    const { kinds } = await collectOutput(agent.processes({ headers }).start(sh('sleep 2.5')));
    expect(kinds).toEqual(['start', 'keepalive', 'keepalive', 'end']);
    const bad = agent.processes({ headers: { 'keepalive-ping-interval': 'never' } });
    await expect(collectOutput(bad.start(sh('true')))).rejects.toMatchObject({ code: Code.InvalidArgument });
  });
});

describe('List', () => {
  it('shows live processes with their config, pid and tag, and no others', async () => {
    const { pid, rest } = await begin({
      process: { cmd: 'sleep', args: ['5'], envs: { A: '1' }, cwd: '/' },
      tag: 'nap',
    });
    const { processes } = await agent.processes().list({});
    expect(processes.find((info) => info.pid === pid)).toMatchObject({
      config: { cmd: 'sleep', args: ['5'], envs: { A: '1' }, cwd: '/' },
      tag: 'nap',
    });
    await agent.processes().sendSignal({ ...byPid(pid), signal: Signal.SIGKILL });
    await collectOutput(rest);
    expect((await agent.processes().list({})).processes.some((info) => info.pid === pid)).toBe(false);
  });
});

describe('SendSignal', () => {
  it('ends a process by SIGTERM, without waiting for a child that holds its output', async () => {
    const { pid, rest } = await begin(sh('sleep 3 & wait'));
    const started = performance.now();
    await agent.processes().sendSignal({ ...byPid(pid), signal: Signal.SIGTERM });
    const { end } = await collectOutput(rest);
    expect(end).toMatchObject({ exitCode: -1, exited: false, status: 'signal: terminated' });
    expect(performance.now() - started).toBeLessThan(1500);
  });

  it('keeps what the process wrote before it was signalled', async () => {
    const { pid, rest } = await begin(sh('trap "echo bye; exit 0" TERM; while :; do sleep 0.05; done'));
    await delay(100);
    await agent.processes().sendSignal({ ...byPid(pid), signal: Signal.SIGTERM });
    expect(await collectOutput(rest)).toMatchObject({ stdout: 'bye\n', end: { exitCode: 0 } });
  });

  it('refuses other signals with unimplemented and an ended process with not_found', async () => {
    const { pid } = await run('true');
    const processes = agent.processes();
    await expect(processes.sendSignal({ ...byPid(pid), signal: Signal.SIGKILL })).rejects.toMatchObject({
      code: Code.NotFound,
    });
    const live = await begin(sh('sleep 5'));
    await expect(processes.sendSignal({ ...byPid(live.pid), signal: 2 as Signal })).rejects.toMatchObject({
      code: Code.Unimplemented,
    });
    await processes.sendSignal({ ...byPid(live.pid), signal: Signal.SIGKILL });
  });
});

describe('input', () => {
  it('reaches stdin in order, and CloseStdin gives end of file, also the second time', async () => {
    const { pid, rest } = await begin(sh('cat'));
    const processes = agent.processes();
    for (const text of ['one ', 'two ', 'three'])
      await processes.sendInput({ ...byPid(pid), input: stdin(text) });
    await processes.closeStdin(byPid(pid));
    await processes.closeStdin(byPid(pid)).catch((error) => expect(error.code).toBe(Code.NotFound));
    expect(await collectOutput(rest)).toMatchObject({ stdout: 'one two three', end: { exitCode: 0 } });
  });

  it('closes stdin twice with success while the process lives', async () => {
    const { pid, rest } = await begin(sh('sleep 0.3'));
    await agent.processes().closeStdin(byPid(pid));
    await agent.processes().closeStdin(byPid(pid));
    await expect(agent.processes().sendInput({ ...byPid(pid), input: stdin('x') })).rejects.toMatchObject({
      code: Code.Internal,
    });
    await collectOutput(rest);
  });

  it('is refused with internal where it does not fit, and unimplemented when empty', async () => {
    const { pid } = await begin({ ...sh('sleep 5'), stdin: false });
    const processes = agent.processes();
    const pty = { input: { case: 'pty' as const, value: Buffer.from('x') } };
    await expect(processes.sendInput({ ...byPid(pid), input: stdin('x') })).rejects.toMatchObject({
      code: Code.Internal,
    });
    await expect(processes.sendInput({ ...byPid(pid), input: pty })).rejects.toMatchObject({
      code: Code.Internal,
    });
    await expect(processes.sendInput(byPid(pid))).rejects.toMatchObject({ code: Code.Unimplemented });
    await expect(processes.sendInput({ ...byPid(1), input: stdin('x') })).rejects.toMatchObject({
      code: Code.NotFound,
    });
    await processes.sendSignal({ ...byPid(pid), signal: Signal.SIGKILL });
  });

  it('streams many messages in their order, larger than any pipe, and leaves stdin open', async () => {
    const { pid, rest } = await begin(sh('sleep 0.3; head -c 4000000 | md5sum'));
    const pieces = Array.from({ length: 40 }, (_, at) => Buffer.alloc(100_000, `piece ${at} `));
    const messages = async function* (): AsyncGenerator<StreamInputMessage> {
      yield { event: { case: 'start', value: byPid(pid) } };
      for (const value of pieces) {
        yield { event: { case: 'data', value: { input: { input: { case: 'stdin', value } } } } };
        yield { event: { case: 'keepalive', value: {} } };
      }
    };
    await agent.processes().streamInput(messages());
    const hash = createHash('md5').update(Buffer.concat(pieces)).digest('hex');
    expect((await collectOutput(rest)).stdout).toBe(`${hash}  -\n`);
  });

  it.each([
    [
      'data before start',
      [{ event: { case: 'data' as const, value: { input: stdin('x') } } }],
      Code.InvalidArgument,
    ],
    ['keepalive before start', [{ event: { case: 'keepalive' as const, value: {} } }], Code.InvalidArgument],
    ['an empty message', [{}], Code.InvalidArgument],
    ['no message at all', [], Code.InvalidArgument],
    ['an unknown process', [{ event: { case: 'start' as const, value: byPid(1) } }], Code.NotFound],
  ])('refuses a stream with %s, and survives it', async (_what, messages, code) => {
    const stream = agent.processes().streamInput(
      (async function* () {
        yield* messages;
      })(),
    );
    await expect(stream).rejects.toMatchObject({ code });
    expect((await run('echo fine')).stdout).toBe('fine\n');
  });

  it('refuses a second start', async () => {
    const { pid } = await begin(sh('sleep 5'));
    const start = { event: { case: 'start' as const, value: byPid(pid) } };
    const stream = agent.processes().streamInput(
      (async function* () {
        yield start;
        yield start;
      })(),
    );
    await expect(stream).rejects.toMatchObject({ code: Code.InvalidArgument });
    await agent.processes().sendSignal({ ...byPid(pid), signal: Signal.SIGKILL });
  });
});

describe('the protocol of the calls', () => {
  it('wants Connect-Protocol-Version 1', async () => {
    for (const version of [undefined, '2']) {
      const headers = {
        'content-type': 'application/json',
        ...(version && { 'connect-protocol-version': version }),
      };
      const { status, json } = await agent.http({
        method: 'POST',
        path: '/process.Process/List',
        headers,
        body: '{}',
      });
      expect([status, json]).toMatchObject([400, { code: 'invalid_argument' }]);
    }
  });

  it('answers JSON that is none with invalid_argument', async () => {
    const { status, json } = await agent.http({
      method: 'POST',
      path: '/process.Process/SendInput',
      headers: { 'content-type': 'application/json', 'connect-protocol-version': '1' },
      body: '{"process":',
    });
    expect([status, json]).toMatchObject([400, { code: 'invalid_argument' }]);
  });

  it('accepts snake_case and unknown fields', async () => {
    const { status, json } = await agent.call('process.Process/List', { unknown_field: 1 });
    expect([status, json]).toMatchObject([200, {}]);
  });

  it('never compresses a stream that did not offer it', async () => {
    const message = Buffer.from(JSON.stringify({ process: { cmd: 'seq', args: ['5000'] } }));
    const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
    envelope.writeUInt32BE(message.length, 1);
    const { headers, body } = await agent.http({
      method: 'POST',
      path: '/process.Process/Start',
      headers: { 'content-type': 'application/connect+json', 'connect-protocol-version': '1' },
      body: envelope,
    });
    expect(headers).not.toHaveProperty('connect-content-encoding');
    const flags: number[] = [];
    for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1)) flags.push(body.readUInt8(at));
    expect(flags.at(-1)).toBe(2);
    expect(flags.slice(0, -1).every((flag) => flag === 0)).toBe(true);
  });
});
