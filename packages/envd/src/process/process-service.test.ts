import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { Code } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectOutput } from '../testing/collect-output.ts';
import { createProcessRequests, sh } from '../testing/process-requests.ts';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

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

const { begin, run } = createProcessRequests(() => agent);
const asUser = (name: string) => ({ headers: { authorization: `Basic ${btoa(`${name}:`)}` } });
const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);

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

  it('reports an end by a real-time signal as one where the kernel can tell, though Node has no name for it', async () => {
    const [major = 0, minor = 0] = release().split('.').map(Number);
    const status = 'signal: real-time signal 3';
    const told = { exitCode: -1, exited: false, status, error: status };
    const untold = { exitCode: 0, exited: true, status: 'exit status 0' };
    const canTell = major > 6 || (major === 6 && minor >= 15);
    const script = 'exec bash -c "kill -RTMIN+3 \\$\\$"';
    expect((await run(script)).end).toEqual(canTell ? told : untold);
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

  it('stands behind the agent when cpu is short, with all that it starts', async () => {
    expect((await run('until [ "$(nice)" = 10 ]; do sleep 0.02; done; nice; sh -c nice')).stdout).toBe(
      '10\n10\n',
    );
    const ofAgent = readFileSync(`/proc/${agent.pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[16];
    expect(ofAgent).toBe('0');
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
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(readFileSync(marker, 'utf8')).toBe('yes\n');
  });

  it('ends at the deadline of Start by SIGKILL, with deadline_exceeded', async () => {
    const stream = agent.processes().start(sh('trap "" TERM; echo $$; sleep 30'), { timeoutMs: 300 });
    let pid = 0;
    const read = async (): Promise<void> => {
      for await (const { event } of stream) if (event?.event.case === 'start') pid = event.event.value.pid;
    };
    await expect(read()).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('ends at the deadline of Start even when the caller has gone before', async () => {
    const abort = new AbortController();
    const begunMs = performance.now();
    const stream = agent.processes().start(sh('sleep 30'), { timeoutMs: 1_500, signal: abort.signal });
    const first = await stream[Symbol.asyncIterator]().next();
    const event = first.value?.event?.event;
    abort.abort();
    const pid = event?.case === 'start' ? event.value.pid : 0;
    await expect.poll(() => isAlive(pid)).toBe(false);
    // Not by the caller's going.
    expect(performance.now() - begunMs).toBeGreaterThan(1_400);
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
