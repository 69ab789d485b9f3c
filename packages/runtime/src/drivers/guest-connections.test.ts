import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createGuestConnections } from './guest-connections.ts';

it('ends the open streams, and opens none until the work is done', async () => {
  const connections = createGuestConnections();
  const first = await connections.open(async () => new PassThrough());
  const { promise, resolve } = Promise.withResolvers<string>();
  const work = connections.interrupt(() => promise);
  expect(first.destroyed).toBe(true);
  let dials = 0;
  const second = connections.open(async () => {
    dials += 1;
    return new PassThrough();
  });
  await sleep(10);
  expect(dials).toBe(0);
  resolve('done');
  expect(await work).toBe('done');
  expect((await second).destroyed).toBe(false);
});

it('waits for a stream that was being opened when an interruption began, also when that fails', async () => {
  const connections = createGuestConnections();
  const dialled: PassThrough[] = [];
  const { promise: slow, resolve: arrive } = Promise.withResolvers<void>();
  const opening = connections.open(async () => {
    if (dialled.length === 0) await slow;
    const stream = new PassThrough();
    dialled.push(stream);
    return stream;
  });
  await sleep(1);
  const { promise, reject } = Promise.withResolvers<never>();
  const work = connections.interrupt(() => promise);
  arrive();
  await sleep(1);
  expect(dialled.map(({ destroyed }) => destroyed)).toEqual([true]);
  reject(new Error('no'));
  await expect(work).rejects.toThrow('no');
  expect(await opening).toBe(dialled[1]);
});

it('waits for two interruptions at the same time', async () => {
  const connections = createGuestConnections();
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const works = [connections.interrupt(() => one.promise), connections.interrupt(() => two.promise)];
  let isOpen = false;
  const opening = connections
    .open(async () => new PassThrough())
    .then(() => {
      isOpen = true;
    });
  two.resolve();
  await works[1];
  await sleep(5);
  expect(isOpen).toBe(false);
  one.resolve();
  await opening;
  expect(isOpen).toBe(true);
});
