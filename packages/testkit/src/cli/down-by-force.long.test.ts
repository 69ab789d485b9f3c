import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findTraces } from '@skerry/runtime/testing';
import { Sandbox } from '@skerry/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'skerry-down-'));
});
afterEach(async () => {
  await runProgram(skerryProgram, ['down', '--data', dataDir]);
  rmSync(dataDir, { recursive: true });
});

const down = async (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, [skerryProgram, 'down', '--data', dataDir, ...args]);

const helperOf = (): number =>
  (JSON.parse(readFileSync(join(dataDir, 'run/helper.json'), 'utf8')) as { pid: number }).pid;

/** One that runs a process and one that is paused, whose ids it resolves with. */
const createSome = async (stack: Stack): Promise<string[]> => {
  const options = { ...stack.connection, timeoutMs: 600_000 };
  const [running, paused] = await Promise.all([Sandbox.create(options), Sandbox.create(options)]);
  await running.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
  await paused.pause({ memory: false });
  return [running.sandboxId, paused.sandboxId];
};

/** Nothing is there to be found, and nothing for another one to do. */
const expectNothing = async (ids: string[]): Promise<void> => {
  expect(await findTraces({ dataDir, ids })).toEqual([]);
  expect(await down()).toEqual({
    stdout: `nothing to stop: ${dataDir} has no server and no sandbox\n`,
    stderr: '',
  });
  const again = await startStack({ dataDir });
  const { data } = await again.api.GET('/v2/sandboxes', {
    params: { query: { state: ['running', 'paused'] } },
  });
  expect(data).toEqual([]);
  await again.stop();
};

describe('skerry down', () => {
  it('removes all sandboxes where no helper can be started, and says what it did', async () => {
    const stack = await startStack({ dataDir });
    const ids = await createSome(stack);
    await stack.stop();
    // Where its socket is to be.
    const obstacle = join(dataDir, 'run/runtime.sock');
    mkdirSync(join(obstacle, 'x'), { recursive: true });
    const { stdout, stderr } = await down();
    rmSync(obstacle, { recursive: true });
    expect(stdout).toBe('stopped 2 sandboxes\n');
    for (const line of [
      /^skerry: the helper could not remove all sandboxes \([^\n]+ exited with 1\): removing them without it$/m,
      /^skerry: ended \d+ processes$/m,
      /^skerry: unmounted \d+ file systems$/m,
      /^skerry: removed 2 folders$/m,
    ])
      expect(stderr).toMatch(line);
    await expectNothing(ids);
  });

  it('kills a helper that was stopped and outlived its server', async () => {
    const stack = await startStack({ dataDir });
    const ids = await createSome(stack);
    const helper = helperOf();
    process.kill(helper, 'SIGSTOP');
    await stack.kill();
    // Long enough for another helper to start on a busy machine.
    const { stdout, stderr } = await down('--deadline', '10');
    expect(stdout).toBe('stopped 2 sandboxes\n');
    expect(stderr).toBe(
      `skerry: the helper of an earlier server has not ended in 10 s: killing it, process ${helper}\n`,
    );
    await expectNothing(ids);
  });

  it('ends a server that waits for a helper which does not answer', async () => {
    const stack = await startStack({ dataDir });
    const ids = await createSome(stack);
    const helper = helperOf();
    process.kill(helper, 'SIGSTOP');
    const creating = Sandbox.create({ ...stack.connection, timeoutMs: 600_000 }).catch(
      (error: unknown) => error,
    );
    const { stdout, stderr } = await down('--deadline', '1');
    expect(stdout).toMatch(/^stopped [23] sandboxes\n$/);
    expect(stderr).toContain(`has not ended in 1 s: killing its helper, process ${helper}\n`);
    await creating;
    await expectNothing(ids);
  });

  it.each(['running', 'stopped'])('ends a server that is still starting, when it is %s', async (how) => {
    // Takes connections and never answers, so that the server waits for its base image.
    await using registry = createServer().listen(0, '127.0.0.1');
    await once(registry, 'listening');
    const { port } = registry.address() as AddressInfo;
    const reference = `127.0.0.1:${port}/base:latest`;
    const args = ['up', '--data', dataDir, '--port', '0', '--no-memory', '--base-image', reference];
    const starting = spawn(process.execPath, [skerryProgram, ...args], { stdio: 'ignore' });
    const ended = once(starting, 'exit');
    const [connection] = (await once(registry, 'connection')) as [Socket];
    connection.on('error', () => undefined); // The connection is cut off when the server ends.
    if (how === 'stopped') starting.kill('SIGSTOP');
    const { stdout, stderr } = await down('--deadline', how === 'stopped' ? '1' : '30');
    expect(stdout).toBe('stopped 0 sandboxes\n');
    if (how === 'stopped') expect(stderr).toContain(`killing it, process ${starting.pid}\n`);
    else expect(stderr).toBe('');
    await ended;
    connection.destroy();
  });
});
