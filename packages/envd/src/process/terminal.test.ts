import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Code } from '@connectrpc/connect';
import { Signal } from '@skerry/envd-client/process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectOutput } from '../testing/collect-output.ts';
import { createGate } from '../testing/gate.ts';
import { byPid } from '../testing/process-requests.ts';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';
import { TerminalSession, typed } from '../testing/terminal-session.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
  await agent.initialize({ sandboxId: 'i1', templateId: 't1', envVars: {}, defaultUser: 'user' });
});
afterAll(() => agent.stop());

const asRoot = { headers: { authorization: `Basic ${btoa('root:')}` } };
const size = (cols: number, rows: number) => ({ pty: { size: { cols, rows } } });
const bash = (script: string) => ({
  process: { cmd: '/bin/bash', args: ['--norc', '-c', script] },
  ...size(80, 24),
});
const run = (script: string) => collectOutput(agent.processes().start(bash(script)));
const interactive = (envs: Record<string, string> = {}) => ({
  process: { cmd: '/bin/bash', args: ['--norc', '--noprofile', '-i'], envs: { PS1: '> ', ...envs } },
  ...size(80, 24),
});

describe('a process on a terminal', () => {
  it('has it as its controlling terminal and all three of its files, and owns it', async () => {
    const { kinds, pty, end } = await run(
      'tty; for fd in 0 1 2; do readlink /proc/self/fd/$fd; done; stat -c %U $(tty); : < /dev/tty && echo controls',
    );
    const lines = pty.split('\r\n');
    expect(lines[0]).toMatch(/^\/dev\/pts\/\d+$/);
    expect(lines).toEqual([lines[0], lines[0], lines[0], lines[0], 'user', 'controls', '']);
    expect(new Set(kinds.slice(1, -1))).toEqual(new Set(['pty']));
    expect([kinds[0], kinds.at(-1), end?.exitCode]).toEqual(['start', 'end', 0]);
  });

  it('has the ids and the supplementary groups of its user, and no capability', async () => {
    const script = 'id -u; id -g; id -G; grep -E "^Cap(Eff|Prm)" /proc/self/status';
    expect((await run(script)).pty.split('\r\n')).toEqual([
      '1000',
      '1000',
      '1000 2001 2002',
      'CapPrm:\t0000000000000000',
      'CapEff:\t0000000000000000',
      '',
    ]);
    const root = await collectOutput(agent.processes(asRoot).start(bash('id -u; id -g; stat -c %U $(tty)')));
    expect(root.pty).toBe('0\r\n0\r\nroot\r\n');
  });

  it('has the environment of any process: TERM only when the caller sends it', async () => {
    const env = (envs: Record<string, string>) =>
      collectOutput(agent.processes().start({ process: { cmd: 'env', envs }, ...size(80, 24) }));
    const names = (pty: string) => pty.split('\r\n').map((line) => line.split('=')[0]);
    const plain = await collectOutput(agent.processes().start({ process: { cmd: 'env' } }));
    expect(names((await env({})).pty)).toEqual(plain.stdout.split('\n').map((line) => line.split('=')[0]));
    expect((await env({ TERM: 'xterm-256color', A: 'ä b' })).pty).toMatch(/TERM=xterm-256color\r\nA=ä b\r\n/);
  });

  it('starts in its directory', async () => {
    const request = { process: { cmd: 'pwd', cwd: '/usr/lib' }, ...size(80, 24) };
    expect((await collectOutput(agent.processes().start(request))).pty).toBe('/usr/lib\r\n');
  });

  it('inherits no file of the agent, nor the terminal of another', async () => {
    const other = await TerminalSession.start(agent, interactive());
    const { pty } = await run('ls /proc/self/fd');
    const plain = await collectOutput(
      agent.processes().start({ process: { cmd: 'ls', args: ['/proc/self/fd'] } }),
    );
    expect(pty.trim().split(/\s+/)).toEqual(plain.stdout.trim().split('\n'));
    expect((await run('ls -l /proc/self/fd')).pty).not.toContain('ptmx');
    await other.kill();
  });

  it('is a more likely victim than the agent when memory runs out', async () => {
    const own = Number(readFileSync(`/proc/${agent.pid}/oom_score_adj`, 'utf8'));
    const { pty } = await run('cat /proc/self/oom_score_adj');
    expect(Number(pty)).toBeGreaterThan(own);
  });

  it.each([
    ['exit 3', { exitCode: 3, exited: true, status: 'exit status 3', error: 'exit status 3' }],
    ['true', { exitCode: 0, exited: true, status: 'exit status 0' }],
    [
      'kill -TERM $$',
      { exitCode: -1, exited: false, status: 'signal: terminated', error: 'signal: terminated' },
    ],
    [
      'kill -SEGV $$',
      {
        exitCode: -1,
        exited: false,
        status: 'signal: segmentation fault',
        error: 'signal: segmentation fault',
      },
    ],
  ])('reports how it ended after %s', async (script, end) => {
    expect((await run(script)).end).toEqual(end);
  });

  it.each([
    ['no-such-program', 'no-such-program: command not found\r\n', 127],
    ['/no/such', '/no/such: No such file or directory\r\n', 127],
    ['/etc/passwd', '/etc/passwd: Permission denied\r\n', 126],
    ['/usr/lib', '/usr/lib: Permission denied\r\n', 126],
  ])('answers like a shell when the program is %s', async (cmd, text, exitCode) => {
    const { kinds, pty, end } = await collectOutput(
      agent.processes().start({ process: { cmd }, ...size(80, 24) }),
    );
    expect([kinds, pty, end?.exitCode]).toEqual([['start', 'pty', 'end'], text, exitCode]);
  });

  it('is listed with its config and tag, and found by the tag', async () => {
    const session = await TerminalSession.start(agent, { ...interactive(), tag: 'shell' });
    const { processes } = await agent.processes().list({});
    expect(processes.find(({ pid }) => pid === session.pid)).toMatchObject({
      tag: 'shell',
      config: { cmd: '/bin/bash' },
    });
    await agent.processes().sendSignal({
      process: { selector: { case: 'tag', value: 'shell' } },
      signal: Signal.SIGKILL,
    });
    expect((await session.ended)?.status).toBe('signal: killed');
  });

  it.each([
    ['a missing cwd', { process: { cmd: 'true', cwd: '/no/such' } }],
    ['a NUL byte in an argument', { process: { cmd: 'true', args: ['a\0b'] } }],
    ['a NUL byte in a variable', { process: { cmd: 'true', envs: { A: 'a\0b' } } }],
    ['an empty command', { process: { cmd: '' } }],
  ])('is refused with %s', async (_what, request) => {
    await expect(
      collectOutput(agent.processes().start({ ...request, ...size(80, 24) })),
    ).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
  });
});

describe('the user of a terminal', () => {
  it('shows what is typed and what comes of it', async () => {
    const session = await TerminalSession.start(agent, interactive());
    await session.see('> ');
    await session.type('echo $((6 * 7))\n');
    await session.see('42\r\n');
    expect(session.screen).toContain('echo $((6 * 7))\r\n');
    await session.type('exit 7\n');
    expect(await session.ended).toEqual({ exitCode: 7, status: 'exit status 7' });
    expect(session.kinds).toEqual(new Set(['pty']));
  });

  it('interrupts the program in front by Ctrl-C, not the shell', async () => {
    const session = await TerminalSession.start(agent, interactive());
    await session.see('> ');
    await session.type("sh -c 'echo in front; exec sleep 60'\n");
    await session.see('\nin front\r\n');
    await session.type('\u0003');
    await session.type('echo status $?\n');
    await session.see('status 130');
    await session.type('exit 8\n');
    expect((await session.ended)?.exitCode).toBe(8);
  });

  it('ends a program that reads by Ctrl-D', async () => {
    const session = await TerminalSession.start(agent, { process: { cmd: 'cat' }, ...size(80, 24) });
    await session.type('line\n');
    await session.see('line\r\nline\r\n');
    await session.type('\u0004');
    expect((await session.ended)?.exitCode).toBe(0);
  });

  it('has job control', async () => {
    const session = await TerminalSession.start(agent, interactive());
    await session.see('> ');
    expect(session.screen).not.toContain('job control');
    await session.type("sh -c 'echo in front; exec sleep 60'\n");
    await session.see('\nin front\r\n');
    await session.type('\u001a');
    await session.see('Stopped');
    await session.kill();
  });

  it('streams input in order, and a program that does not read loses nothing', async () => {
    const gate = createGate(agent.dir);
    const session = await TerminalSession.start(
      agent,
      bash(`stty raw -echo; echo ready; ${gate.wait}; head -c 300000 | md5sum`),
    );
    await session.see('ready');
    const pieces = Array.from({ length: 30 }, (_, at) => Buffer.alloc(10_000, `piece ${at} `));
    async function* messages() {
      yield { event: { case: 'start' as const, value: byPid(session.pid) } };
      for (const piece of pieces) yield { event: { case: 'data' as const, value: { input: typed(piece) } } };
    }
    const sending = agent.processes().streamInput(messages());
    // While one terminal is full the agent serves other calls.
    expect((await collectOutput(agent.processes().start({ process: { cmd: 'true' } }))).end?.exitCode).toBe(
      0,
    );
    gate.open();
    await sending;
    await session.ended;
    expect(session.screen).toContain(createHash('md5').update(Buffer.concat(pieces)).digest('hex'));
  });

  it('is possible for several at once, from where they came', async () => {
    const session = await TerminalSession.start(agent, interactive());
    await session.see('> ');
    const second = await TerminalSession.attach(agent, session.pid);
    await session.type('echo both; exit\n');
    expect([(await session.ended)?.exitCode, (await second.ended)?.exitCode]).toEqual([0, 0]);
    expect(second.screen).toContain('both\r\n');
    expect(second.screen.startsWith('> ')).toBe(false);
  });
});

describe('the end of a terminal', () => {
  const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);

  it('comes by SIGKILL at once, though a child holds the terminal, and by SIGTERM', async () => {
    const session = await TerminalSession.start(
      agent,
      bash('(trap "" HUP; echo child $BASHPID; exec sleep 60) & wait'),
    );
    await session.see('\r\n');
    const child = Number(/child (\d+)/.exec(session.screen)?.[1]);
    const begunMs = performance.now();
    await session.kill();
    expect(await session.ended).toEqual({ exitCode: -1, status: 'signal: killed' });
    // The child would hold it for a minute.
    expect(performance.now() - begunMs).toBeLessThan(20_000);
    expect(isAlive(child)).toBe(true);
    process.kill(child, 'SIGKILL');
    const other = await TerminalSession.start(agent, bash('exec sleep 60'));
    await agent.processes().sendSignal({ ...byPid(other.pid), signal: Signal.SIGTERM });
    expect((await other.ended)?.status).toBe('signal: terminated');
  });

  it('comes at the deadline of Start, by SIGKILL', async () => {
    const stream = agent.processes().start(bash('trap "" TERM HUP; sleep 60'), { timeoutMs: 300 });
    const session = new TerminalSession(agent, stream);
    await expect(session.ended).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await expect.poll(() => isAlive(session.pid)).toBe(false);
  });

  it('does not come when the caller goes away', async () => {
    const abort = new AbortController();
    const session = new TerminalSession(
      agent,
      agent.processes().start(interactive(), { signal: abort.signal }),
    );
    await session.see('> ');
    abort.abort();
    await expect(session.ended).rejects.toMatchObject({ code: Code.Canceled });
    const again = await TerminalSession.attach(agent, session.pid);
    await session.type('echo still $((40 + 2)); exit\n');
    await again.see('still 42');
    expect((await again.ended)?.exitCode).toBe(0);
  });

  it('is still reported to a caller a moment later', async () => {
    const { pid } = await run('exit 4');
    const { kinds, end } = await collectOutput(agent.processes().connect(byPid(pid as number)));
    expect([kinds, end?.exitCode]).toEqual([['start', 'end'], 4]);
  });

  it('does not come when the program lets go of the terminal before', async () => {
    const { end } = await run('exec <&- >&- 2>&-; sleep 0.3; exit 9');
    expect(end?.exitCode).toBe(9);
  });

  it('leaves no file and no thread behind', async () => {
    const fds = () =>
      readdirSync(`/proc/${agent.pid}/fd`).filter((fd) => {
        try {
          return readlinkSync(`/proc/${agent.pid}/fd/${fd}`).includes('ptmx');
        } catch {
          // Closed since it was listed.
          return false;
        }
      }).length;
    const threads = () => readdirSync(`/proc/${agent.pid}/task`).length;
    // Those of terminals that have just ended may still be there.
    await expect.poll(fds).toBe(0);
    await run('true');
    await expect.poll(fds).toBe(0);
    await delay(200);
    const before = threads();
    await Promise.all(Array.from({ length: 20 }, () => run('echo x')));
    await expect.poll(fds).toBe(0);
    await expect.poll(threads).toBeLessThanOrEqual(before);
  });
});
