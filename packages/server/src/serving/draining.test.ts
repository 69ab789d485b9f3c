import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { createInFlight, passDraining } from './draining.ts';

const drain = (options: {
  ms?: number;
  settleBuilds?: () => Promise<void>;
  inFlight?: ReturnType<typeof createInFlight>;
  signal?: AbortSignal;
}) => {
  const lines: string[] = [];
  const note = (message: string): void => void lines.push(message);
  const done = passDraining({
    inFlight: createInFlight(),
    settleBuilds: async () => {},
    ms: 60_000,
    log: { info: note, warn: note },
    signal: new AbortController().signal,
    ...options,
  });
  return { lines, done };
};
const begins = 'the server drains before it ends: a second signal ends it at once';
const cut = 'what is in progress ends now';

it('is over at once, without a word, when nothing is in progress', async () => {
  const { lines, done } = drain({});
  await done;
  expect(lines).toEqual([]);
});

it('waits for what is in flight and then for the build that it has begun', async () => {
  const inFlight = createInFlight();
  const [one, two] = [new EventEmitter(), new EventEmitter()];
  inFlight.begin(one);
  inFlight.begin(two);
  let built = (): void => {};
  const building = new Promise<void>((resolve) => {
    built = resolve;
  });
  const { lines, done } = drain({ inFlight, settleBuilds: () => building });
  let isDone = false;
  void done.then(() => {
    isDone = true;
  });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  one.emit('close');
  await turn();
  two.emit('close');
  await turn();
  await turn();
  expect([inFlight.count, isDone]).toEqual([0, false]);
  built();
  await done;
  expect(lines).toEqual([begins]);
});

it('ends after its time, or when it is hurried', async () => {
  const inFlight = createInFlight();
  inFlight.begin(new EventEmitter());
  const late = drain({ inFlight, ms: 20 });
  await late.done;
  expect(late.lines).toEqual([begins, cut]);
  const hurry = new AbortController();
  const hurried = drain({ inFlight, signal: hurry.signal });
  hurry.abort();
  await hurried.done;
  expect(hurried.lines).toEqual([begins, cut]);
  const none = drain({ inFlight, ms: 0 });
  await none.done;
  expect(none.lines).toEqual([]);
});

it('ends, and says why, when the builds in progress cannot be known', async () => {
  const unknown = 'the builds in progress are unknown, and the server does not wait for them';
  const inFlight = createInFlight();
  const request = new EventEmitter();
  inFlight.begin(request);
  const failing = drain({ inFlight, settleBuilds: () => Promise.reject(new Error('no database')) });
  await new Promise((resolve) => setImmediate(resolve));
  request.emit('close');
  await failing.done;
  expect(failing.lines).toEqual([begins, unknown, cut]);
  const none = drain({ settleBuilds: () => Promise.reject(new Error('no database')), ms: 0 });
  await none.done;
  expect(none.lines).toEqual([unknown]);
});
