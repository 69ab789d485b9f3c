import { strict as assert } from 'node:assert';
import { readFileSync, writeFileSync } from 'node:fs';
import { Sandbox } from '@skerry/sdk';
import { type Count, checkCountsOn, checkWork, readCounter, startCounter } from './checks.ts';
import { ensureServer, startServer } from './server.ts';
import { findLeftovers } from './traces.ts';

const LIFE_MS = 3_600_000;
const notes = '/var/lib/lab-reboot.json';

interface Notes {
  paused: string;
  running: string;
  count: Count;
}

/** Leaves a paused and a running sandbox behind. */
export async function prepareReboot(): Promise<void> {
  const connection = await ensureServer();
  const [paused, running] = [
    await Sandbox.create({ ...connection, timeoutMs: LIFE_MS }),
    await Sandbox.create({ ...connection, timeoutMs: LIFE_MS }),
  ];
  await startCounter(paused);
  await startCounter(running);
  const count = await readCounter(paused);
  await paused.pause();
  const found: Notes = { paused: paused.sandboxId, running: running.sandboxId, count };
  writeFileSync(notes, JSON.stringify(found));
}

/** After the reboot: the paused one goes on, the running one is lost and said to be, and nothing else is left. */
export async function checkReboot(): Promise<void> {
  const { paused, running, count } = JSON.parse(readFileSync(notes, 'utf8')) as Notes;
  const connection = await startServer();
  const states = new Map<string, string>();
  for await (const { sandboxId, state } of Sandbox.list(connection)) states.set(sandboxId, state);
  assert.deepEqual([...states], [[paused, 'paused']], 'the sandboxes after the reboot');
  const log = await Sandbox.getLogs(running, connection);
  assert.ok(
    log.some(({ logger, fields }) => logger === 'platform' && fields.cause === 'lost'),
    `the log of the lost sandbox: ${JSON.stringify(log)}`,
  );
  assert.deepEqual(findLeftovers(), [], 'what is left of the sandbox that ran');
  const resumed = await Sandbox.connect(paused, { ...connection, timeoutMs: LIFE_MS });
  await checkWork(resumed);
  await checkCountsOn(resumed, count);
  await resumed.kill();
}
