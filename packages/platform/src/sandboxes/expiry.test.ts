import { describe, expect, it } from 'vitest';
import type { Clock } from '../clock.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createExpiry } from './expiry.ts';

const start = () => {
  const { clock, advance, timers } = createManualClock();
  const due: { id: string; at: number }[] = [];
  const expiry = createExpiry({ clock, onDue: (id) => due.push({ id, at: clock.now() }) });
  return { clock, advance, timers, due, expiry };
};

describe('createExpiry', () => {
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

  it('can be told a new end while it acts on the old one', () => {
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

  it('forgets what was cancelled and holds one timer at most', () => {
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

  it('waits on when a timer fires early, as one beyond 24 days does', () => {
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
