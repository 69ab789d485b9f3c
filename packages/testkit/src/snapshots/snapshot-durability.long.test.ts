import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox, snapshots } from '@skerry/sdk';
import { expect, it } from 'vitest';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import type { Stack } from '../stack/stack.ts';
import { useSuccessiveServers } from '../stack/successive-servers.ts';

const servers = useSuccessiveServers();
const { dataDir } = servers;

const kept = (): string[] => readdirSync(join(dataDir, 'snapshots'));
const list = async (stack: Stack): Promise<string[]> => {
  const found: string[] = [];
  for await (const { snapshotId } of snapshots.list(stack.connection)) found.push(snapshotId);
  return found.sort();
};
const create = async (stack: Stack, template: string): Promise<Sandbox> =>
  Sandbox.create({ ...stack.connection, template, timeoutMs: 120_000 });
const read = (sandbox: Sandbox): Promise<string> => sandbox.files.read('/home/user/mark');

/** The helper of that server: the one child of it. */
const helperOf = (stack: Stack): number =>
  Number(readFileSync(`/proc/${stack.pid}/task/${stack.pid}/children`, 'utf8').trim().split(' ')[0]);

it('snapshots outlive their server and its sandboxes', async () => {
  const first = await servers.start();
  const source = await create(first, 'base');
  await source.files.write('/home/user/mark', 'kept');
  const { snapshotId } = await source.createSnapshot({ name: 'mark', memory: false });
  await source.kill();
  await servers.end('kill');
  await runProgram(skerryProgram, ['down', '--data', dataDir]);
  const second = await servers.start();
  expect(await list(second)).toEqual([snapshotId]);
  const copy = await create(second, 'mark');
  expect(await read(copy)).toBe('kept');
  await copy.kill();
  await snapshots.delete('mark', second.connection);
  expect(kept()).toEqual([]);
});

it.each([
  ['server', 15],
  ['server', 130],
  ['helper', 15],
  ['helper', 130],
] as const)(
  'kill -9 of the %s %i ms into a series of snapshots loses none that was told of and leaves nothing else',
  async (victim, afterMs) => {
    const first = await servers.start();
    const sandboxes = await Promise.all([create(first, 'base'), create(first, 'base')]);
    for (const sandbox of sandboxes) {
      await sandbox.files.write('/home/user/mark', '0 0');
      await sandbox.files.write('/home/user/own', sandbox.sandboxId);
    }
    const told: [snapshotId: string, mark: string][] = [];
    let isKilled = false;
    const series = sandboxes.map(async (sandbox, index) => {
      await delay(index * 30);
      // The next helper takes over from one that was killed between two calls: no call need fail then.
      for (let turn = 0; !isKilled; turn += 1) {
        const mark = `${index} ${turn}`;
        await sandbox.files.write('/home/user/mark', mark);
        const { snapshotId } = await sandbox.createSnapshot({ memory: false });
        told.push([snapshotId, mark]);
      }
    });
    const ended = Promise.allSettled(series);
    // Otherwise nothing that was told of could be lost.
    await expect.poll(() => told.length).toBeGreaterThan(0);
    await delay(afterMs);
    process.kill(victim === 'server' ? first.pid : helperOf(first), 'SIGKILL');
    isKilled = true;
    await ended;
    if (victim === 'helper') {
      // The server is still there, and so are its sandboxes: both are captured as if nothing had been.
      for (const sandbox of sandboxes) {
        expect(await sandbox.files.read('/home/user/mark')).toMatch(/^\d \d+$/);
        const { snapshotId } = await sandbox.createSnapshot({ memory: false });
        told.push([snapshotId, await sandbox.files.read('/home/user/mark')]);
      }
    }
    await servers.end('kill');

    const second = await servers.start();
    const found = await list(second);
    expect(found).toEqual(expect.arrayContaining(told.map(([snapshotId]) => snapshotId)));
    // Each sandbox may have one more snapshot, whose id was not returned before the kill.
    expect(found.length).toBeLessThanOrEqual(told.length + sandboxes.length);
    await expect.poll(() => kept().length).toBe(found.length);
    for (const [snapshotId, mark] of told.slice(-2)) {
      const copy = await create(second, snapshotId);
      expect(await read(copy)).toBe(mark);
      await copy.kill();
    }
    for (const { sandboxId } of sandboxes) {
      const sandbox = await Sandbox.connect(sandboxId, second.connection);
      // Not the mark: a write that the kill cut off leaves it empty.
      expect(await sandbox.files.read('/home/user/own')).toBe(sandboxId);
      await sandbox.kill();
    }
    for (const snapshotId of found) await snapshots.delete(snapshotId, second.connection);
    expect(kept()).toEqual([]);
  },
);
