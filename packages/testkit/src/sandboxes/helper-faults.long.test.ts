import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { startStack } from '../stack/stack.ts';
import type { StackAddress } from '../stack/stack-client.ts';

let dataDir: string;

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'skerry-faults-'));
});
afterAll(async () => {
  await runProgram(skerryProgram, ['down', '--data', dataDir]);
  rmSync(dataDir, { recursive: true });
});

const helperOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);

/** Kills the helper once it is up, and resolves when it is dead. */
const killHelper = async (server: number): Promise<void> => {
  const record = join(dataDir, 'run/helper.json');
  await expect.poll(() => helperOf(server)).toBeGreaterThan(0);
  const pid = helperOf(server);
  await expect.poll(() => (JSON.parse(readFileSync(record, 'utf8')) as { pid: number }).pid).toBe(pid);
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => existsSync(`/proc/${pid}`), { interval: 1 }).toBe(false);
};

it('a helper that dies is started again without a call, and after 5 times within a minute the service ends with status 1', async () => {
  const args = [skerryProgram, 'up', '--port', '0', '--data', dataDir, '--json'];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = text(server.stderr);
  const exited = once(server, 'exit') as Promise<[number | null]>;
  const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
  const { apiUrl, sandboxUrl, domain, apiKey } = JSON.parse(line) as StackAddress;
  const connection = { apiUrl, sandboxUrl, domain, apiKey };
  const sandbox = await Sandbox.create({ ...connection, timeoutMs: 600_000 });
  const pid = server.pid as number;
  for (let count = 1; count < 5; count += 1) {
    await killHelper(pid);
    // Agents are reached without it.
    expect((await sandbox.commands.run('echo on')).stdout).toBe('on\n');
  }
  // What is asked for while there is none waits for the next one.
  const other = await Sandbox.create({ ...connection, timeoutMs: 600_000 });
  expect((await other.commands.run('echo on')).stdout).toBe('on\n');
  await killHelper(pid);
  expect(await exited).toEqual([1, null]);
  expect(await said).toMatch(
    /\nskerry: the helper, [^\n]+ died 5 times within a minute, at last with SIGKILL[^\n]+\n$/,
  );

  await using again = await startStack({ dataDir });
  for (const { sandboxId } of [sandbox, other]) {
    const found = await Sandbox.connect(sandboxId, again.connection);
    expect((await found.commands.run('echo on')).stdout).toBe('on\n');
  }
});

it('a call that the death of the helper cuts off is answered 503, with the time after which to try again', async () => {
  await using stack = await startStack({ dataDir });
  await stack.createSandbox();
  const answers: { status: number; retryAfter: string | null }[] = [];
  const create = async (): Promise<void> => {
    const { response } = await stack.api.POST('/sandboxes', { body: { templateID: 'base', timeout: 600 } });
    answers.push({ status: response.status, retryAfter: response.headers.get('retry-after') });
  };
  const pid = helperOf(stack.pid);
  const folders = (): number => readdirSync(join(dataDir, 'sandboxes')).length;
  const before = folders();
  const creates = Promise.all(Array.from({ length: 6 }, create));
  while (folders() === before) await delay(1);
  process.kill(pid, 'SIGKILL');
  await creates;
  const refused = answers.filter(({ status }) => status !== 201);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused).toEqual(refused.map(() => ({ status: 503, retryAfter: '1' })));
});
