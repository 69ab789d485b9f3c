import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { Code } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectOutput } from '../testing/collect-output.ts';
import { sh } from '../testing/process-requests.ts';
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

/** Runs a script of the shell to its end. */
const run = (script: string) => collectOutput(agent.processes().start(sh(script)));
describe('Start', () => {
  it('reports an end by a real-time signal as one where the kernel can tell, though Node has no name for it', async () => {
    const [major = 0, minor = 0] = release().split('.').map(Number);
    const status = 'signal: real-time signal 3';
    const told = { exitCode: -1, exited: false, status, error: status };
    const untold = { exitCode: 0, exited: true, status: 'exit status 0' };
    const canTell = major > 6 || (major === 6 && minor >= 15);
    const script = 'exec bash -c "kill -RTMIN+3 \\$\\$"';
    expect((await run(script)).end).toEqual(canTell ? told : untold);
  });

  it('lets programs open /dev/stdout and /dev/stderr', async () => {
    const { stdout, stderr } = await run('echo a > /dev/stdout; echo b > /dev/stderr');
    expect([stdout, stderr]).toEqual(['a\n', 'b\n']);
  });

  it.each([
    ['an empty command', { process: { cmd: '' } }, Code.InvalidArgument],
    ['a NUL byte', { process: { cmd: 'true', args: ['a\0b'] } }, Code.InvalidArgument],
    [
      'a variable with = in its name',
      { process: { cmd: 'true', envs: { 'A=B': 'c' } } },
      Code.InvalidArgument,
    ],
  ])('refuses %s', async (_what, request, code) => {
    await expect(collectOutput(agent.processes().start(request))).rejects.toMatchObject({ code });
  });
});

describe('the user of a process', () => {
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
