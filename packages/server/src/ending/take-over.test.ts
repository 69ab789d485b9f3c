import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { openDataFolder } from '../data-folder/data-folder.ts';
import { lockDataFolder, tryLock } from '../data-folder/data-lock.ts';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';
import { takeOver } from './take-over.ts';

const say = (): void => undefined;

it('ends the server that has locked the folder, which has no address yet', async () => {
  const folder = openDataFolder(createTemporaryFolder());
  const from = (name: string): string => JSON.stringify(join(import.meta.dirname, name));
  const program = `const { tryLock } = await import(${from('../data-folder/data-lock.ts')});
    const { writeServerProcess } = await import(${from('../data-folder/server-process.ts')});
    globalThis.lock = tryLock(${JSON.stringify(folder)}); writeServerProcess(${JSON.stringify(folder)});
    for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => {}); console.log('locked'); setInterval(() => {}, 1000);`;
  const server = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void server.kill('SIGKILL'));
  const ended = once(server, 'exit');
  await once(server.stdout, 'data');
  const said: string[] = [];
  const { lock, endedServer } = await takeOver(folder, {
    deadlineMs: 200,
    say: (message) => said.push(message),
  });
  expect(endedServer).toBe(true);
  expect(said).toEqual([`the server does not end: killing it, process ${server.pid}`]);
  await ended;
  lock.release();
});

it('waits until the deadline for a process that is not a server and has locked the folder', async () => {
  const folder = openDataFolder(createTemporaryFolder());
  const other = await lockDataFolder(folder);
  await expect(takeOver(folder, { deadlineMs: 100, say })).rejects.toThrow(/is not its server/);
  const taking = takeOver(folder, { deadlineMs: 60_000, say });
  await sleep(1_000);
  expect(tryLock(folder)).toBeUndefined();
  other.release();
  const { lock, endedServer } = await taking;
  expect(endedServer).toBe(false);
  lock.release();
});
