import { strict as assert } from 'node:assert';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { checkCountsOn, checkWork, readCounter, startCounter } from './checks.ts';
import { ensureServer, findHelper, findServer, readPid, startServer } from './server.ts';

const LIFE_MS = 3_600_000;

async function kill(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  for (let tries = 0; tries < 200; tries += 1) {
    try {
      process.kill(pid, 0);
    } catch {
      return; // The process is gone.
    }
    await delay(100);
  }
  throw new Error(`process ${pid} outlives SIGKILL`);
}

/** That sandboxes outlive a server that was killed, and that the next one finds them. */
export async function checkKilledServer(): Promise<void> {
  const sandbox = await Sandbox.create({ ...(await ensureServer()), timeoutMs: LIFE_MS });
  await startCounter(sandbox);
  const before = await readCounter(sandbox);
  await kill(readPid());
  assert.equal(await findServer(), undefined, 'the killed server answers');
  const connection = await startServer();
  const found = await Sandbox.connect(sandbox.sandboxId, { ...connection, timeoutMs: LIFE_MS });
  await checkCountsOn(found, before);
  await checkWork(found);
  await found.kill();
}

/** That a server goes on when its helper was killed, with its sandboxes. */
export async function checkKilledHelper(): Promise<void> {
  const connection = await ensureServer();
  const server = readPid();
  const sandbox = await Sandbox.create({ ...connection, timeoutMs: LIFE_MS });
  await startCounter(sandbox);
  const before = await readCounter(sandbox);
  await kill(findHelper());
  await checkCountsOn(sandbox, before);
  await using another = await createAtLast(connection);
  await checkWork(another);
  await checkWork(sandbox);
  assert.equal(readPid(), server, 'the server is another one');
  await sandbox.kill();
}

/** A call that was under way may fail, and the next ones while the helper starts. */
async function createAtLast(connection: Awaited<ReturnType<typeof ensureServer>>): Promise<Sandbox> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await Sandbox.create({ ...connection, timeoutMs: LIFE_MS });
    } catch (error) {
      if (tries === 20) throw error;
      await delay(3_000);
    }
  }
}
