import { strict as assert } from 'node:assert';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { gvisorServer } from './gvisor.ts';
import { run } from './run.ts';
import { ensureServer, findServer, takeDown, usualServer } from './server.ts';
import { findAllLeftovers } from './traces.ts';

const SETTLE_MS = 30_000;

/** That `skerry down` ends a running and a paused sandbox with their server and leaves nothing on the host. */
export async function checkDown({ memory = true } = {}): Promise<void> {
  const connection = await ensureServer();
  await Sandbox.create({ ...connection, timeoutMs: 3_600_000 });
  const paused = await Sandbox.create({ ...connection, timeoutMs: 3_600_000 });
  await paused.pause({ memory });
  assert.match(await takeDown(usualServer), /^stopped \d+ sandbox/m);
  assert.equal(await findServer(), undefined, 'a server answers after down');
  await untilNothingIsLeft();
  assert.match(await takeDown(usualServer), /^nothing to stop/m, 'a second down');
}

/** After a row that failed: that its servers and sandboxes can be taken down, as if it had never run. */
export async function reset(): Promise<void> {
  const isRoot = process.getuid?.() === 0;
  for (const { dataDir } of isRoot ? [usualServer, gvisorServer] : [usualServer])
    if (existsSync(dataDir)) await run('skerry', 'down', '--data', dataDir);
  // Root comes last, and looks for what all users have left.
  if (isRoot) await untilNothingIsLeft();
}

/** What a process has started to work for it ends a moment after it. */
export async function untilNothingIsLeft(): Promise<void> {
  for (const untilMs = Date.now() + SETTLE_MS; Date.now() < untilMs; ) {
    if (findAllLeftovers().length === 0) return;
    await delay(500);
  }
  assert.deepEqual(findAllLeftovers(), [], 'what is left');
}
