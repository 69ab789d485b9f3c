import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { AuthenticationError, Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runProgram } from '../stack/run-program.ts';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { skerryProgram } from '../stack/skerry-program.ts';

let stack: SharedStack;
beforeAll(async () => {
  stack = await joinStack();
});
afterAll(() => stack.leave());

/** The objects that a command prints with --json, one a line. */
const read = async (...argv: string[]): Promise<unknown[]> => {
  const printed = await runProgram(skerryProgram, [...argv, '--json', '--data', stack.dataDir]);
  return printed
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
};

it('prints a JSON object a line for what each command has done to a sandbox', async () => {
  const [created] = await read('sandbox', 'create', '--timeout', '5m');
  expect(created).toMatchObject({ state: 'running', cpuCount: 2 });
  const { sandboxId: id } = created as { sandboxId: string };
  const [named] = await read('sandbox', 'url', id, '8080');
  expect(named).toEqual({ sandboxId: id, port: 8080, url: expect.stringContaining(`8080-${id}.`) });
  const [copy] = await read('sandbox', 'fork', id);
  expect(copy).toEqual({ sandboxId: expect.stringMatching(/^i/) });
  expect(await read('sandbox', 'pause', '--no-memory', id)).toEqual([{ sandboxId: id, state: 'paused' }]);
  expect(await read('sandbox', 'resume', id)).toEqual([{ sandboxId: id, state: 'running' }]);
  const { sandboxId: copied } = copy as { sandboxId: string };
  expect(await read('sandbox', 'kill', copied, id)).toEqual([
    { sandboxId: copied, killed: true },
    { sandboxId: id, killed: true },
  ]);
  await expect(read('sandbox', 'kill', id)).rejects.toThrow(/ended with 1\n$/);
});

it('prints a JSON object a line for what each command has done to a snapshot', async () => {
  const { sandboxId } = await stack.createSandbox();
  const [made] = await read('snapshot', 'create', '--no-memory', '--name', 'as-json', sandboxId);
  const snapshotId = 'local/as-json:default';
  expect(made).toEqual({ snapshotId, names: [snapshotId] });
  expect(await read('snapshot', 'verify', 'as-json')).toEqual([{ snapshotId: 'as-json', problems: [] }]);
  expect(await read('snapshot', 'delete', 'as-json')).toEqual([{ snapshotId: 'as-json', deleted: true }]);
});

it('creates a key that works, lists it without its secret, renames it, and revokes it', async () => {
  const [created] = await read('key', 'create', 'as-json');
  const { key, keyId } = created as { key: string; keyId: string };
  const find = async () => {
    const listed = (await read('key', 'list')) as { keyId: string }[];
    expect(JSON.stringify(listed)).not.toContain(key.slice(4, -4));
    return listed.find((one) => one.keyId === keyId);
  };
  const use = () => Array.fromAsync(Sandbox.list({ ...stack.connection, apiKey: key }));
  expect(await find()).toMatchObject({ name: 'as-json', mask: `${key.slice(0, 6)}…${key.slice(-4)}` });
  await use();
  expect(await find()).toMatchObject({ lastUsedAt: expect.any(String) });
  await runProgram(skerryProgram, ['key', 'rename', keyId, 'renamed', '--data', stack.dataDir]);
  expect(await find()).toMatchObject({ name: 'renamed' });
  expect(await read('key', 'revoke', keyId)).toEqual([{ keyId, revoked: true }]);
  expect(await find()).toBeUndefined();
  await expect(use()).rejects.toThrow(AuthenticationError);
  await expect(read('key', 'revoke', keyId)).rejects.toThrow(/ended with 1\n$/);
});

it('prints an error as an object too, goes on, and ends with 1', async () => {
  const { sandboxId } = await stack.createSandbox();
  const argv = [
    skerryProgram,
    'sandbox',
    'pause',
    '--no-memory',
    '--json',
    '--data',
    stack.dataDir,
    'inone',
    sandboxId,
  ];
  const failed = promisify(execFile)(process.execPath, argv);
  await expect(failed).rejects.toMatchObject({ code: 1, stderr: '' });
  const { stdout } = await failed.catch((error: { stdout: string }) => error);
  expect(
    stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { sandboxId: 'inone', error: { code: 'not_found', message: expect.stringContaining('inone') } },
    { sandboxId, state: 'paused' },
  ]);
});
