import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { abortable } from './abortable.ts';

describe('abortable', () => {
  it('settles as the work does, and leaves no listener', async () => {
    const { signal } = new AbortController();
    expect(await abortable(Promise.resolve(1), signal)).toBe(1);
    await expect(abortable(Promise.reject(new Error('work')), signal)).rejects.toThrow('work');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('rejects with the reason of the signal, before and during the work, whose later failure is dropped', async () => {
    const controller = new AbortController();
    const work = sleep(5).then(() => Promise.reject(new Error('late')));
    const waiting = abortable(work, controller.signal);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    const failed = sleep(5).then(() => Promise.reject(new Error('later')));
    await expect(abortable(failed, controller.signal)).rejects.toThrow('enough');
    await sleep(10);
  });
});
