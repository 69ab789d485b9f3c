import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  listSlots,
  releaseAbandonedSlots,
  releaseSlot,
  reserveSlot,
  toBaseUid,
  toSlot,
  toSlotAddresses,
} from './slots.ts';

let stateDir: string;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'slots-'));
});
afterEach(() => rm(stateDir, { recursive: true }));

describe('slots', () => {
  it('never gives one slot to two sandboxes, also when many ask at once', async () => {
    const slots = await Promise.all(
      Array.from({ length: 300 }, (_, n) =>
        reserveSlot({ dataDir: `/data/${n % 3}`, id: `i${n}`, stateDir }),
      ),
    );
    expect(new Set(slots).size).toBe(300);
    expect(await listSlots({ dataDir: '/data/1', stateDir })).toHaveLength(100);
    expect(await listSlots({ stateDir })).toHaveLength(300);
  });

  it('gives the preferred slot while it is free, and another when it is not', async () => {
    const owner = { dataDir: '/data/a', stateDir, preferred: 77 };
    expect(await reserveSlot({ ...owner, id: 'i1' })).toBe(77);
    expect(await reserveSlot({ ...owner, id: 'i2' })).not.toBe(77);
    expect((await listSlots({ stateDir })).find(({ slot }) => slot === 77)?.id).toBe('i1');
  });

  it('names the owner of a slot, whatever the data folder is called', async () => {
    const slot = await reserveSlot({ dataDir: '/with space/and\nline', id: 'i1', stateDir });
    expect(await listSlots({ stateDir })).toEqual([{ slot, id: 'i1', dataDir: '/with space/and\nline' }]);
  });

  it('leaves the slot of another owner alone and releases its own twice without complaint', async () => {
    const slot = await reserveSlot({ dataDir: '/data/a', id: 'i1', stateDir });
    await releaseSlot({ slot, dataDir: '/data/b', id: 'i1', stateDir });
    await releaseSlot({ slot, dataDir: '/data/a', id: 'i2', stateDir });
    expect(await listSlots({ stateDir })).toHaveLength(1);
    await releaseSlot({ slot, dataDir: '/data/a', id: 'i1', stateDir });
    await releaseSlot({ slot, dataDir: '/data/a', id: 'i1', stateDir });
    expect(await listSlots({ stateDir })).toEqual([]);
  });

  it('gives back what a deleted data folder held, unless something still has it', async () => {
    await reserveSlot({ dataDir: stateDir, id: 'there', stateDir });
    await reserveSlot({ dataDir: '/deleted', id: 'gone', stateDir });
    const used = await reserveSlot({ dataDir: '/deleted', id: 'used', stateDir });
    await releaseAbandonedSlots({ stateDir, isInUse: (slot) => slot === used });
    expect((await listSlots({ stateDir })).map(({ id }) => id).sort()).toEqual(['there', 'used']);
  });

  it('lists nothing where nothing was ever reserved', async () => {
    expect(await listSlots({ stateDir: join(stateDir, 'none') })).toEqual([]);
  });

  it('gives each slot its own ids and its own two addresses', () => {
    expect(toBaseUid(0)).toBe(100_000);
    expect(toBaseUid(1)).toBe(165_536);
    expect(toBaseUid(16_383) + 65_535).toBeLessThan(2 ** 31);
    expect(toSlotAddresses(0)).toEqual({ host: '10.201.0.1', guest: '10.201.0.2' });
    expect(toSlotAddresses(64)).toEqual({ host: '10.201.1.1', guest: '10.201.1.2' });
    expect(toSlotAddresses(16_383)).toEqual({ host: '10.201.255.253', guest: '10.201.255.254' });
    for (const slot of [0, 1, 16_383]) expect(toSlot(toBaseUid(slot))).toBe(slot);
    for (const slot of [-1, 16_384, 1.5, Number.NaN]) expect(() => toBaseUid(slot)).toThrow(/a slot is/);
  });
});
