import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';
import { runSelfTest } from './self-test.ts';

describe('the self-test', () => {
  it('resolves when the program exits with 0 in each way in which commands can be started', async () => {
    await expect(runSelfTest({ cmd: '/bin/sh', args: ['-c', 'exit 0'] })).resolves.toBeUndefined();
  });

  it('starts as the other user with a group beside its own, and no more', async () => {
    const script = '[ "$(id -u)" = 0 ] || [ "$(id -G)" = "65534 65533" ]';
    await expect(runSelfTest({ cmd: '/bin/sh', args: ['-c', script] })).resolves.toBeUndefined();
  });

  it.each([
    ['a program that is missing', '/nothing', 'as root', '/nothing'],
    ['a program that fails', 'exit 3', 'as root', 'exit status 3'],
    ['a program that ends by a signal', 'kill -KILL $$', 'as root', 'signal: killed'],
    ['a user who may not run it', '[ "$(id -u)" = 0 ]', 'as another user', 'exit status 1'],
    ['a terminal that is none', '! [ -t 0 ]', 'on a terminal', 'exit status 1'],
  ])('rejects with the way and the reason for %s', async (_what, script, way, reason) => {
    const options = script.startsWith('/') ? { cmd: script } : { cmd: '/bin/sh', args: ['-c', script] };
    await expect(runSelfTest(options)).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringMatching(new RegExp(`${way}.*${reason}`)),
    });
  });
});

describe('POST /self-test', () => {
  let agent: TestAgent;
  beforeAll(async () => {
    agent = await startAgent();
  });
  afterAll(() => agent.stop());

  it('answers 500 and the reason where the program is missing, as it is outside of a sandbox', async () => {
    const { status, json } = await agent.http({ method: 'POST', path: '/self-test', socket: 'control.sock' });
    expect([status, json]).toEqual([500, { code: 500, message: expect.stringContaining('/.envd/tini') }]);
  });

  it('is not reached from the public socket or port', async () => {
    const { status } = await agent.http({ method: 'POST', path: '/self-test' });
    expect(status).toBe(404);
    const answer = await fetch(`http://127.0.0.1:${agent.port}/self-test`, { method: 'POST' });
    expect(answer.status).toBe(404);
  });
});
