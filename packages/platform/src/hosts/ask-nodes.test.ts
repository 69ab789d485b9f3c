import { setImmediate as turn } from 'node:timers/promises';
import { RuntimeLostError } from '@skerry/runtime';
import { expect, it } from 'vitest';
import { askNodes } from './ask-nodes.ts';
import { NodeUnreachableError } from './unreachable.ts';

const nodes = Array.from({ length: 40 }, (_, number) => ({ name: `n${number}`, number }));

it('asks 16 nodes at a time, and has their answers in the order of the nodes', async () => {
  let asked = 0;
  let most = 0;
  const answers = await askNodes(nodes, async ({ number }) => {
    asked += 1;
    most = Math.max(most, asked);
    // The later ones answer first.
    for (let left = 40 - number; left > 0; left -= 1) await turn();
    asked -= 1;
    return number;
  });
  expect([most, answers]).toEqual([16, nodes.map(({ number }) => number)]);
});

it('rejects with the first failure, which names its node, when all have been asked', async () => {
  const over: string[] = [];
  const asked = askNodes(nodes, async ({ name, number }) => {
    await turn();
    over.push(name);
    if (number === 3) throw new RuntimeLostError('cut');
    if (number === 5) throw new Error('later');
  });
  const error = await asked.catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(NodeUnreachableError);
  expect(error).toMatchObject({ node: 'n3' });
  expect(over).toHaveLength(40);
});
