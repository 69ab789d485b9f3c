import { describe, expect, it } from 'vitest';
import type { KeyLimits } from '../quotas/quota-rows.ts';
import type { NewSandbox } from '../rows.ts';
import type { Store } from '../store.ts';
import { newSandbox } from './new-sandbox.ts';

/** The tests of the limits of keys, part of the suite of stores. */
export const describeQuotas = (ask: () => Store, { reopen }: { reopen: () => Promise<Store> }): void => {
  const addKey = (id: string, limits: KeyLimits) =>
    ask().addApiKey({
      ...{ id, hash: id, firstCharacters: '12', lastCharacters: '3456', createdAt: 1 },
      ...{ name: `name of ${id}`, project: 'shop', readOnly: false, limits },
    });
  const reserve = (id: string, more: Partial<NewSandbox> = {}, store = ask()) =>
    store.reserveSandbox(newSandbox(id, { keyId: 'k1', ...more }), { maxActive: 100 });
  const run = (id: string, endAt: number) =>
    ask().changeState(id, { from: ['starting'], to: 'running', set: { endAt } });

  describe('the limits of a key', () => {
    it('count the sandboxes that it created and that have a place, and say when there is room', async () => {
      await addKey('k1', { sandboxes: 2 });
      expect([await reserve('i1'), await reserve('i2')]).toEqual(['reserved', 'reserved']);
      const exceeded = {
        kind: 'sandboxes',
        keyName: 'name of k1',
        project: 'shop',
        max: 2,
        used: 2,
        needed: 1,
      };
      expect(await reserve('i3')).toEqual({ ...exceeded, freeAt: null });
      expect(await ask().findSandbox('i3')).toBeUndefined();
      for (const keyId of ['k2', null]) expect(await reserve(`of ${keyId}`, { keyId })).toBe('reserved');
      await run('i1', 70);
      await run('i2', 50);
      expect(await reserve('i3')).toEqual({ ...exceeded, freeAt: 50 });
      await ask().changeState('i1', { from: ['running'], to: 'paused' });
      expect(await reserve('i3')).toBe('reserved');
      const resume = { endAt: 90, maxActive: 100 };
      expect(await ask().reserveResume('i1', resume)).toEqual({ ...exceeded, freeAt: 50 });
      expect(await ask().findSandbox('i1')).toMatchObject({ state: 'paused' });
      await ask().changeState('i3', { from: ['starting'], to: 'ended' });
      expect(await ask().reserveResume('i1', resume)).toBe('reserved');
    });

    it('add the memory up, and wait for as many ends as it needs', async () => {
      await addKey('k1', { memoryMb: 1024 });
      for (const [id, memoryMb, endAt] of [
        ['i1', 256, 10],
        ['i2', 512, 20],
      ] as const) {
        expect(await reserve(id, { memoryMb })).toBe('reserved');
        await run(id, endAt);
      }
      const exceeded = { kind: 'memoryMb', max: 1024, used: 768 };
      expect(await reserve('i3', { memoryMb: 512 })).toMatchObject({ ...exceeded, needed: 512, freeAt: 10 });
      expect(await reserve('i3', { memoryMb: 1024 })).toMatchObject({
        ...exceeded,
        needed: 1024,
        freeAt: 20,
      });
      expect(await reserve('i3', { memoryMb: 2048 })).toMatchObject({ needed: 2048, freeAt: null });
      expect(await reserve('i3', { memoryMb: 256 })).toBe('reserved');
    });

    it('hold after a restart, a change and a revocation', async () => {
      await addKey('k1', { sandboxes: 1 });
      await reserve('i1');
      const store = await reopen();
      expect(await reserve('i2', {}, store)).toMatchObject({ max: 1 });
      await store.changeApiKey('k1', { limits: { sandboxes: 2 } });
      expect(await reserve('i2', {}, store)).toBe('reserved');
      await store.revokeApiKey('k1', 5);
      expect(await reserve('i3', {}, store)).toMatchObject({ max: 2, used: 2 });
    });

    it('are never exceeded by concurrent reservations', async () => {
      await addKey('k1', { sandboxes: 7, memoryMb: 128 * 5 });
      const results = await Promise.all(Array.from({ length: 20 }, (_, index) => reserve(`i${index}`)));
      expect(results.filter((result) => result === 'reserved')).toHaveLength(5);
    });
  });
};
