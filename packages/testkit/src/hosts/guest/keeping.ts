import { strict as assert } from 'node:assert';
import { Sandbox, snapshots } from '@skerry/sdk';
import { checkCountsOn, checkWork, readCounter, startCounter } from './checks.ts';
import type { Connection } from './server.ts';

const LIFE_MS = 3_600_000;

/** A pause with memory and its resume. */
export async function checkMemory(connection: Connection): Promise<void> {
  const sandbox = await Sandbox.create({ ...connection, timeoutMs: LIFE_MS });
  await startCounter(sandbox);
  const before = await readCounter(sandbox);
  await sandbox.pause();
  const resumed = await Sandbox.connect(sandbox.sandboxId, { ...connection, timeoutMs: LIFE_MS });
  await checkWork(resumed);
  await checkCountsOn(resumed, before);
  await resumed.kill();
}

/** Copies of a running sandbox, which goes on as well. */
export async function checkFork(connection: Connection): Promise<void> {
  const sandbox = await Sandbox.create({ ...connection, timeoutMs: LIFE_MS });
  await startCounter(sandbox);
  const before = await readCounter(sandbox);
  const forks = await sandbox.fork({ count: 2, timeoutMs: LIFE_MS });
  for (const fork of forks) {
    if (!(fork instanceof Sandbox)) throw fork;
    assert.notEqual(fork.sandboxId, sandbox.sandboxId);
    await checkWork(fork);
    await checkCountsOn(fork, before);
    await fork.kill();
  }
  await checkWork(sandbox);
  await checkCountsOn(sandbox, before);
  await sandbox.kill();
}

/** Sandboxes made of a snapshot with memory and of one with files alone, after their source has ended. */
export async function checkSnapshot(connection: Connection): Promise<void> {
  const sandbox = await Sandbox.create({ ...connection, timeoutMs: LIFE_MS });
  await sandbox.files.write('/home/user/kept', 'kept');
  await startCounter(sandbox);
  const before = await readCounter(sandbox);
  const [whole, files] = [await sandbox.createSnapshot(), await sandbox.createSnapshot({ memory: false })];
  await checkWork(sandbox);
  await checkCountsOn(sandbox, before);
  await sandbox.kill();
  for (const { snapshotId } of [whole, files]) {
    const made = await Sandbox.create({ ...connection, template: snapshotId, timeoutMs: LIFE_MS });
    await checkWork(made);
    assert.equal(await made.files.read('/home/user/kept'), 'kept');
    if (snapshotId === whole.snapshotId) await checkCountsOn(made, before);
    await made.kill();
    assert.deepEqual(await snapshots.verify(snapshotId, connection), []);
    assert.ok(await snapshots.delete(snapshotId, connection));
  }
}

/** A pause that keeps the files alone. */
export async function checkFilesPause(connection: Connection): Promise<void> {
  const sandbox = await Sandbox.create({ ...connection, timeoutMs: LIFE_MS });
  await sandbox.files.write('/home/user/kept', 'kept');
  await sandbox.pause({ memory: false });
  const resumed = await Sandbox.connect(sandbox.sandboxId, { ...connection, timeoutMs: LIFE_MS });
  assert.equal(await resumed.files.read('/home/user/kept'), 'kept');
  await checkWork(resumed);
  await resumed.kill();
}
