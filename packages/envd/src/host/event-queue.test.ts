import { describe, expect, it } from 'vitest';
import { createEventQueue, follow, SILENCE } from './event-queue.ts';

const collect = async <T>(events: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
};

const options = () => ({ signal: new AbortController().signal, keepaliveMs: 60_000 });

describe('an event queue', () => {
  it('delivers in order, also what comes while a reader waits, and then ends', async () => {
    const queue = createEventQueue<number>();
    queue.push(1, 1);
    const reading = collect(follow(queue, options()));
    await Promise.resolve();
    for (let at = 2; at <= 5000; at += 1) queue.push(at, 1);
    queue.close();
    queue.push(0, 1);
    expect(await reading).toEqual(Array.from({ length: 5000 }, (_, at) => at + 1));
  });

  it('counts the bytes that wait', async () => {
    const queue = createEventQueue<string>();
    queue.push('a', 10);
    queue.push('b', 5);
    expect(queue.sizeBytes).toBe(15);
    await queue.take();
    expect(queue.sizeBytes).toBe(5);
  });

  it('delivers what it holds before the error it was closed with, and nothing after discard', async () => {
    const closed = createEventQueue<number>();
    closed.push(1, 1);
    closed.close(new Error('the end'));
    expect(await closed.take()).toBe(1);
    await expect(closed.take()).rejects.toThrow('the end');
    const discarded = createEventQueue<number>();
    discarded.push(1, 1);
    discarded.discard(new Error('dropped'));
    expect(discarded.sizeBytes).toBe(0);
    await expect(discarded.take()).rejects.toThrow('dropped');
  });

  it('reports silence again and again, and never while events come', async () => {
    const queue = createEventQueue<number>();
    const seen: unknown[] = [];
    for await (const event of follow(queue, { ...options(), keepaliveMs: 20 })) {
      seen.push(event);
      if (seen.length === 2) queue.push(1, 1);
      if (seen.length === 4) queue.close();
    }
    expect(seen).toEqual([SILENCE, SILENCE, 1, SILENCE]);
  });

  it('fails with the reason of an abort, also one that came before', async () => {
    const abort = new AbortController();
    const queue = createEventQueue<number>();
    const reading = collect(follow(queue, { signal: abort.signal, keepaliveMs: 60_000 }));
    abort.abort(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
    const late = collect(follow(createEventQueue(), { signal: abort.signal, keepaliveMs: 60_000 }));
    await expect(late).rejects.toThrow('gone');
  });
});
