import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createSerialQueue } from './serial-queue.ts';

it('runs work one at a time in the order of the calls, also after a failure, which its caller receives', async () => {
  const queue = createSerialQueue();
  const steps: string[] = [];
  const work = (name: string) => async (): Promise<string> => {
    steps.push(`${name} begins`);
    await turn();
    steps.push(`${name} ends`);
    if (name === 'first') throw new Error(name);
    return name;
  };
  const [first, second] = [queue.run(work('first')), queue.run(work('second'))];
  await expect(first).rejects.toThrow('first');
  await queue.settled();
  expect(steps).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
  expect(await second).toBe('second');
});
