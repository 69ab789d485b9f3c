import { describe, expect, it } from 'vitest';
import type { Clock } from './clock.ts';
import { createExpiry } from './expiry.ts';
import { createManualClock } from './testing/manual-clock.ts';

const start = () => {
  const { clock, advance, timers } = createManualClock();
  const due: { id: string; at: number }[] = [];
  const expiry = createExpiry({ clock, onDue: (id) => due.push({ id, at: clock.now() }) });
  return { clock, advance, timers, due, expiry };
};

/** Counts the timers that were set, and those that are neither disarmed nor due yet. */
const startCounting = () => {
  const { clock, advance } = createManualClock();
  const count = { set: 0, armed: 0 };
  const counting: Pick<Clock, 'now' | 'after'> = {
    now: clock.now,
    after: (delayMs, run) => {
      count.set += 1;
      count.armed += 1;
      const disarm = clock.after(delayMs, () => {
        count.armed -= 1;
        run();
      });
      return () => {
        count.armed -= 1;
        disarm();
      };
    },
  };
  const due: string[] = [];
  const expiry = createExpiry({ clock: counting, onDue: (id) => due.push(id) });
  return { clock, advance, count, due, expiry };
};

describe('createExpiry', () => {
  it('is never early, and less than a quarter of a second late', () => {
    const { clock, advance, due, expiry } = start();
    const first = clock.now();
    const ends = new Map(Array.from({ length: 2000 }, (_, ms) => [`i${ms}`, first + ms]));
    for (const [id, endAt] of ends) expiry.schedule(id, endAt);
    advance(60_000);
    expect(due).toHaveLength(ends.size);
    const late = due.map(({ id, at }) => at - (ends.get(id) ?? 0));
    expect([Math.min(...late), Math.max(...late)]).toEqual([0, 249]);
  });

  it('sets its timer again only for an earlier end or the next one, and disarms the one before', () => {
    const { clock, advance, count, due, expiry } = startCounting();
    expiry.schedule('i1', clock.now() + 5_000);
    expiry.schedule('i2', clock.now() + 9_000);
    expiry.schedule('i3', clock.now() + 9_000);
    expect(count).toEqual({ set: 1, armed: 1 });
    expiry.schedule('i4', clock.now() + 1_000);
    expect(count).toEqual({ set: 2, armed: 1 });
    advance(2_000);
    expect([due, count]).toEqual([['i4'], { set: 3, armed: 1 }]);
    advance(60_000);
    expect([due, count]).toEqual([['i4', 'i1', 'i2', 'i3'], { set: 4, armed: 0 }]);
  });

  it('has no timer after the last end is cancelled, and still acts on others of the same time', () => {
    const { clock, advance, count, due, expiry } = startCounting();
    const endAt = clock.now() + 5_000;
    for (const id of ['i1', 'i2', 'i3']) expiry.schedule(id, endAt);
    expiry.cancel('i2');
    expiry.cancel('unknown');
    expect(count.armed).toBe(1);
    advance(6_000);
    expect(due).toEqual(['i1', 'i3']);
    expiry.schedule('i4', clock.now() + 5_000);
    expiry.cancel('i4');
    expect(count.armed).toBe(0);
    advance(60_000);
    expect(due).toEqual(['i1', 'i3']);
  });

  it('knows no end from before it was closed', () => {
    const { clock, advance, count, due, expiry } = startCounting();
    for (const id of ['i1', 'i2']) expiry.schedule(id, clock.now() + 1_000);
    expiry.close();
    expect(count.armed).toBe(0);
    expiry.schedule('i1', clock.now() + 5_000);
    advance(3_000);
    expect(due).toEqual([]);
    advance(60_000);
    expect(due).toEqual(['i1']);
  });

  it('acts on each end once, within a second, and never before', () => {
    const { clock, advance, due, expiry } = start();
    const ends = new Map([1, 249, 250, 999, 1000, 5001].map((ms) => [`i${ms}`, clock.now() + ms]));
    for (const [id, endAt] of ends) expiry.schedule(id, endAt);
    advance(60_000);
    expect(due.map(({ id }) => id).sort()).toEqual([...ends.keys()].sort());
    for (const { id, at } of due) {
      expect(at - (ends.get(id) ?? 0)).toBeGreaterThanOrEqual(0);
      expect(at - (ends.get(id) ?? 0)).toBeLessThan(1000);
    }
  });

  it('acts at once on an end that has passed', () => {
    const { clock, advance, due, expiry } = start();
    expiry.schedule('i1', clock.now() - 90_000);
    advance(0);
    expect(due.map(({ id }) => id)).toEqual(['i1']);
  });

  it('keeps the earlier of two ends', () => {
    const { clock, advance, due, expiry } = start();
    expiry.schedule('i1', clock.now() + 10_000);
    expiry.schedule('i1', clock.now() + 2_000);
    expiry.schedule('i1', clock.now() + 20_000);
    advance(3_000);
    expect(due).toHaveLength(1);
    advance(60_000);
    expect(due).toHaveLength(1);
  });

  it('accepts a new end while it acts on the old one', () => {
    const { clock, advance, timers } = createManualClock();
    const seen: number[] = [];
    const expiry = createExpiry({
      clock,
      onDue: (id) => {
        seen.push(clock.now());
        if (seen.length < 3) expiry.schedule(id, clock.now() + 5_000);
      },
    });
    expiry.schedule('i1', clock.now() + 5_000);
    advance(60_000);
    expect(seen).toHaveLength(3);
    expect(timers.size).toBe(0);
  });

  it('ignores cancelled ends and has at most one timer', () => {
    const { clock, advance, timers, due, expiry } = start();
    for (let i = 0; i < 100; i += 1) expiry.schedule(`i${i}`, clock.now() + 1_000 + i * 777);
    expect(timers.size).toBe(1);
    for (let i = 0; i < 99; i += 1) expiry.cancel(`i${i}`);
    advance(100_000);
    expect(due.map(({ id }) => id)).toEqual(['i99']);
    expiry.schedule('i1', clock.now() + 5);
    expiry.close();
    expect(timers.size).toBe(0);
  });

  it('keeps waiting when a timer fires early, as one beyond 24 days does', () => {
    const due: string[] = [];
    let fire = (): void => {};
    let now = 0;
    const clock: Pick<Clock, 'now' | 'after'> = {
      now: () => now,
      after: (_delayMs, run) => {
        fire = run;
        return () => {};
      },
    };
    const expiry = createExpiry({ clock, onDue: (id) => due.push(id) });
    expiry.schedule('i1', 10_000);
    now = 4_000;
    fire();
    expect(due).toEqual([]);
    now = 10_000;
    fire();
    expect(due).toEqual(['i1']);
  });
});
