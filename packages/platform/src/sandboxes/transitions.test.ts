import { expect, it } from 'vitest';
import { createTransitions, type Transition } from './transitions.ts';

/** Work that lasts until the test ends it. */
const openWork = () => {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  return { work: () => promise, resolve, reject };
};
/** Whether a promise is settled by the time that everything which can happen now has happened. */
const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  promise.then(settle, settle);
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
};

it('is in progress from the first turn until its work is over, with what its caller gave', async () => {
  const transitions = createTransitions();
  const { work, resolve } = openWork();
  const interrupt = () => undefined;
  const result = transitions.run('i1', 'pause-memory', work, { interrupt });
  const current = transitions.current('i1') as Transition;
  expect(current).toMatchObject({ kind: 'pause-memory', interrupt });
  expect(transitions.current('i2')).toBeUndefined();
  expect(await isSettled(current.over)).toBe(false);
  resolve('done');
  expect(await result).toBe('done');
  expect(await current.over).toBeUndefined();
  expect(transitions.current('i1')).toBeUndefined();
});

it('passes a failure to its caller alone', async () => {
  const transitions = createTransitions();
  const { work, reject } = openWork();
  const result = transitions.run('i1', 'resume', work);
  const { over } = transitions.current('i1') as Transition;
  reject(new Error('broken'));
  await expect(result).rejects.toThrow('broken');
  expect(await over).toBeUndefined();
  expect(transitions.current('i1')).toBeUndefined();
  expect(await transitions.run('i1', 'resume', async () => 'again')).toBe('again');
});

it('is the only one of its sandbox, beside those of others', async () => {
  const transitions = createTransitions();
  const [first, other] = [openWork(), openWork()];
  const results = [
    transitions.run('i1', 'resume', first.work),
    transitions.run('i2', 'snapshot', other.work),
  ];
  let ran = false;
  const second = (): Promise<unknown> =>
    transitions.run('i1', 'snapshot', async () => {
      ran = true;
    });
  expect(second).toThrow('i1');
  expect(ran).toBe(false);
  expect(transitions.current('i1')?.kind).toBe('resume');
  for (const { resolve } of [first, other]) resolve('done');
  await Promise.all(results);
});

it('makes a sandbox idle when it is over, and those that began meanwhile are too', async () => {
  const transitions = createTransitions();
  await transitions.idle('i1');
  const [first, next, other] = [openWork(), openWork(), openWork()];
  const result = transitions.run('i1', 'resume', first.work);
  void transitions.run('i2', 'resume', other.work);
  // Registered before the waiter below, so that the next one begins first.
  const followed = result.then(() => transitions.run('i1', 'snapshot', next.work));
  const idle = transitions.idle('i1');
  expect(await isSettled(idle)).toBe(false);
  first.resolve('done');
  expect(await isSettled(idle)).toBe(false);
  next.resolve('done');
  await followed;
  expect(await isSettled(idle)).toBe(true);
  other.resolve('done');
});

it('is waited for before all is settled, also the last one and whatever its result is', async () => {
  const transitions = createTransitions();
  await transitions.settled();
  const [one, other] = [openWork(), openWork()];
  const failing = expect(transitions.run('i1', 'resume', one.work)).rejects.toThrow('broken');
  void transitions.run('i2', 'resume', other.work);
  const settled = transitions.settled();
  one.reject(new Error('broken'));
  await failing;
  expect(await isSettled(settled)).toBe(false);
  const last = transitions.settled();
  expect(await isSettled(last)).toBe(false);
  other.resolve('done');
  expect(await isSettled(Promise.all([settled, last]))).toBe(true);
});

it('is listed with those of other sandboxes, and reported when it is no longer listed', async () => {
  const reported: string[][] = [];
  const transitions = createTransitions({ onOver: () => reported.push(transitions.underWay()) });
  const [one, other] = [openWork(), openWork()];
  const results = [transitions.run('i1', 'resume', one.work), transitions.run('i2', 'copy', other.work)];
  expect([transitions.underWay(), reported]).toEqual([['i1', 'i2'], []]);
  one.resolve('done');
  await results[0];
  other.reject(new Error('broken'));
  await expect(results[1]).rejects.toThrow('broken');
  expect([transitions.underWay(), reported]).toEqual([[], [['i2'], []]]);
});

it('is waited for as a copy when it is one, with the copies that began meanwhile', async () => {
  const transitions = createTransitions();
  await transitions.copied('i1');
  const [first, next, pause] = [openWork(), openWork(), openWork()];
  const result = transitions.run('i1', 'copy', first.work);
  const followed = result.then(() => transitions.run('i1', 'copy', next.work));
  const copied = transitions.copied('i1');
  expect(await isSettled(copied)).toBe(false);
  first.resolve('done');
  expect(await isSettled(copied)).toBe(false);
  next.resolve('done');
  await followed;
  expect(await isSettled(copied)).toBe(true);
  void transitions.run('i1', 'pause-memory', pause.work);
  expect(await isSettled(transitions.copied('i1'))).toBe(true);
  pause.resolve('done');
});
