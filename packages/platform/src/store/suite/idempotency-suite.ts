import { describe, expect, it } from 'vitest';
import type { Store } from '../store.ts';

/** How a store keeps calls with an `Idempotency-Key`: a part of `describeStore`. */
export const describeIdempotency = (ask: () => Store, { reopen }: { reopen: () => Promise<Store> }): void => {
  const call = (id: string, createdAt = 1) => ({
    id,
    caller: 'k1',
    fingerprint: `of ${id}`,
    createdAt,
  });
  const answer = { status: 201, headers: {}, body: [{ envdAccessToken: 'ab' }] };

  describe('calls with a key', () => {
    it('begin once, and are found with their answer after a restart', async () => {
      const both = await Promise.all([ask().beginCall(call('c1')), ask().beginCall(call('c1', 2))]);
      const unfinished = { ...call('c1'), createdAt: expect.any(Number), answer: null, isElsewhere: false };
      expect(both).toEqual(expect.arrayContaining(['begun', unfinished]));
      await ask().keepAnswer('c1', answer);
      const later = await (await reopen()).beginCall({ ...call('c1'), fingerprint: 'other' });
      expect(later).toMatchObject({ fingerprint: 'of c1', answer, isElsewhere: false });
    });

    it('begin again when they were forgotten', async () => {
      expect(await ask().beginCall(call('c1'))).toBe('begun');
      await ask().forgetCall('c1');
      expect(await ask().beginCall(call('c1'))).toBe('begun');
    });

    it('are under way elsewhere while the server that has them holds a lease', async () => {
      const [one, two] = [ask().ownedBy('one'), ask().ownedBy('two')];
      await one.takeLease('*server one', { owner: 'one', address: 'one:1', leaseMs: 60_000 });
      await one.beginCall(call('c1'));
      expect(await two.beginCall(call('c1'))).toMatchObject({ answer: null, isElsewhere: true });
      expect(await one.beginCall(call('c1'))).toMatchObject({ isElsewhere: false });
      await one.releaseLeases('one');
      expect(await two.beginCall(call('c1'))).toMatchObject({ isElsewhere: false });
    });

    const begun = async (id: string) => (await ask().beginCall(call(id))) === 'begun';

    it('are removed when they are old, or when there are more than so many newer answers', async () => {
      for (const at of [1, 2, 3, 4]) {
        await ask().beginCall(call(`c${at}`, at));
        await ask().keepAnswer(`c${at}`, answer);
      }
      await ask().pruneCalls({ before: 2, keep: 2 });
      expect([await begun('c4'), await begun('c3')]).toEqual([false, false]);
      expect([await begun('c2'), await begun('c1')]).toEqual([true, true]);
    });

    it('stay while they are in progress, and when another caller makes many', async () => {
      await ask().beginCall(call('other', 2));
      await ask().keepAnswer('other', answer);
      await ask().beginCall({ ...call('in progress', 3), caller: 'k2' });
      for (const at of [4, 5, 6]) {
        await ask().beginCall({ ...call(`c${at}`, at), caller: 'k2' });
        await ask().keepAnswer(`c${at}`, answer);
      }
      await ask().pruneCalls({ before: 2, keep: 1 });
      expect([await begun('other'), await begun('in progress'), await begun('c6')]).toEqual([
        ...[false, false, false],
      ]);
      expect([await begun('c4'), await begun('c5')]).toEqual([true, true]);
    });
  });
};
