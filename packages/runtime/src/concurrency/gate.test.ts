import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createGate } from './gate.ts';

it('admits a limited number of callers at a time, and the others in the order of their calls', async () => {
  const gate = createGate(2);
  const order: number[] = [];
  const enter = async (name: number) => {
    const leave = await gate.enter(undefined);
    order.push(name);
    return leave;
  };
  const [first, second] = [await enter(1), await enter(2)];
  const [third, fourth] = [enter(3), enter(4)];
  await setImmediate();
  expect(order).toEqual([1, 2]);
  expect([gate.inside, gate.waiting]).toEqual([2, 2]);
  second();
  // A second call of the same function frees no further place.
  second();
  const leaveThird = await third;
  await setImmediate();
  expect(order).toEqual([1, 2, 3]);
  leaveThird();
  await fourth;
  expect(order).toEqual([1, 2, 3, 4]);
  first();
  (await fourth)();
  expect([gate.inside, gate.waiting]).toEqual([0, 0]);
});

it('rejects a caller whose signal aborts while it waits, and frees its place in the queue', async () => {
  const gate = createGate(1);
  const leave = await gate.enter(undefined);
  const controller = new AbortController();
  const refused = gate.enter(controller.signal);
  const next = gate.enter(undefined);
  controller.abort(new Error('enough'));
  await expect(refused).rejects.toMatchObject({ code: 'unavailable' });
  leave();
  (await next)();
  await expect(gate.enter(AbortSignal.abort())).rejects.toMatchObject({ code: 'unavailable' });
});
