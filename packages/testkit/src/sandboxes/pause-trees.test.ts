import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRandom } from '../faults/random.ts';
import { createFileModel, normalise } from '../file-work/file-model.ts';
import { awaitWork, installWorker, roots, startWork, work } from '../file-work/run-worker.ts';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';

// The long form is for a machine that has nothing else to do.
const cycles = Number(process.env.SKERRY_PAUSE_CYCLES ?? 4);
const OPERATIONS = 300;
const PACE_SECONDS = 0.002;

let stack: SharedStack;
beforeAll(async () => {
  stack = await joinStack();
});
afterAll(() => stack.leave());

it('a sandbox that is paused at random points of file work has the trees of a model, byte for byte', async () => {
  const random = createRandom(cycles);
  const { sandboxId: id } = await stack.createSandbox({ timeoutSeconds: 3600 });
  const sandbox = await Sandbox.connect(id, stack.connection);
  await installWorker(sandbox);
  const model = createFileModel(roots, await work(sandbox, []), random);
  const seen: Record<string, number> = {};
  const pauses = { memory: 0, files: 0, inTheMiddle: 0 };
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    const operations = Array.from({ length: OPERATIONS }, () => model.next()).flat();
    for (const [name] of operations) seen[name] = (seen[name] ?? 0) + 1;
    const expected = normalise(model.describe());
    if (cycle % 2 === 0) {
      await startWork(sandbox, operations, { paceSeconds: PACE_SECONDS });
      await delay(random() * OPERATIONS * PACE_SECONDS * 1000);
      await sandbox.pause();
      await Sandbox.connect(id, stack.connection);
      pauses.memory += 1;
      if (!(await sandbox.files.exists('/tmp/tree'))) pauses.inTheMiddle += 1;
      expect({ cycle, tree: await awaitWork(sandbox) }).toEqual({ cycle, tree: expected });
    } else {
      // Nothing is reported as safe before.
      expect({ cycle, tree: await work(sandbox, operations) }).toEqual({ cycle, tree: expected });
      await sandbox.pause({ memory: false });
      await Sandbox.connect(id, stack.connection);
      pauses.files += 1;
    }
    expect({ cycle, after: await work(sandbox, []) }).toEqual({ cycle, after: expected });
  }
  if (process.env.SKERRY_PAUSE_CYCLES) console.log(JSON.stringify({ cycles, pauses, operations: seen }));
  // A run without such pauses and operations shows nothing.
  expect(pauses.inTheMiddle).toBeGreaterThan(0);
  expect(seen).toMatchObject({
    mapped: expect.any(Number),
    truncate: expect.any(Number),
    link: expect.any(Number),
  });
}, 600_000);
