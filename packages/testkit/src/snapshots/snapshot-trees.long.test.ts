import { Sandbox, snapshots } from '@skerry/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRandom } from '../faults/random.ts';
import { createFileModel, normalise } from '../file-work/file-model.ts';
import { installWorker, roots, work } from '../file-work/run-worker.ts';
import { type Stack, startStack } from '../stack/stack.ts';

const ROUNDS = 6;
const OPERATIONS = 400;

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.down());

it.each([1, 2])(
  'sandboxes of snapshots have the trees of a model, byte for byte, after random file work (seed %i)',
  async (seed) => {
    const random = createRandom(seed);
    let sandbox = await Sandbox.create({ ...stack.connection, timeoutMs: 600_000 });
    await installWorker(sandbox);
    const model = createFileModel(roots, await work(sandbox, []), random);
    const seen = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const operations = Array.from({ length: OPERATIONS }, () => model.next()).flat();
      for (const [name] of operations) seen.set(name, (seen.get(name) ?? 0) + 1);
      const expected = normalise(model.describe());
      expect({ round, tree: await work(sandbox, operations) }).toEqual({ round, tree: expected });
      // Something else is being written while it is captured, and nothing was told to be safe before.
      const noise = await sandbox.commands.run('while :; do seq 20000 > /tmp/noise; done', {
        background: true,
      });
      const { snapshotId } = await sandbox.createSnapshot({ memory: false });
      await noise.kill();
      const copy = await Sandbox.create({ ...stack.connection, template: snapshotId, timeoutMs: 600_000 });
      expect({ round, copy: await work(copy, []) }).toEqual({ round, copy: expected });
      expect(await snapshots.verify(snapshotId, stack.connection)).toEqual([]);
      const differences = await snapshots.diff(copy.sandboxId, {
        ...stack.connection,
        from: sandbox.sandboxId,
      });
      const ofTrees = differences.filter(({ path }) => roots.some((root) => path.startsWith(root)));
      expect(ofTrees).toEqual([]);
      // The work goes on in the copy and in what it was made of, by turns.
      const [next, last] = round % 2 === 0 ? [copy, sandbox] : [sandbox, copy];
      await last.kill();
      sandbox = next;
    }
    expect([...seen.keys()].sort()).toEqual([
      'append',
      'chmod',
      'chown',
      'link',
      'mapped',
      'mkdir',
      'remove',
      'removexattr',
      'rename',
      'setxattr',
      'symlink',
      'truncate',
      'write',
    ]);
    await sandbox.kill();
  },
);
