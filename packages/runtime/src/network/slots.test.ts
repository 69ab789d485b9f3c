import { mkdir, mkdtemp, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  defaultStateDir,
  listSlots,
  releaseAbandonedSlots,
  releaseSlot,
  reserveSlot,
  slotNetwork,
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
  it('never assigns one slot to two sandboxes, also when many reserve at once', async () => {
    const slots = await Promise.all(
      Array.from({ length: 300 }, (_, n) =>
        reserveSlot({ dataDir: `/data/${n % 3}`, id: `i${n}`, stateDir }),
      ),
    );
    expect(new Set(slots).size).toBe(300);
    expect(await listSlots({ dataDir: '/data/1', stateDir })).toHaveLength(100);
    expect(await listSlots({ stateDir })).toHaveLength(300);
  });

  it('assigns the preferred slot while it is free, and another when it is not', async () => {
    const owner = { dataDir: '/data/a', stateDir, preferred: 77 };
    expect(await reserveSlot({ ...owner, id: 'i1' })).toBe(77);
    expect(await reserveSlot({ ...owner, id: 'i2' })).not.toBe(77);
    expect((await listSlots({ stateDir })).find(({ slot }) => slot === 77)?.id).toBe('i1');
  });

  it('assigns no slot whose ids belong to another range, also not the preferred one', async () => {
    const owner = { dataDir: '/data/a', stateDir };
    // The ids of the slots 3 and 4 in part, and all above 10.
    const foreignIds = [
      { first: toBaseUid(4) - 1, count: 2 },
      { first: toBaseUid(11), count: 2 ** 31 },
    ];
    const reserve = (id: number) => reserveSlot({ ...owner, id: `i${id}`, preferred: 4, foreignIds });
    const slots: number[] = [];
    for (let id = 0; id < 9; id++) slots.push(await reserve(id));
    expect(slots.sort((a, b) => a - b)).toEqual([0, 1, 2, 5, 6, 7, 8, 9, 10]);
    await expect(reserve(9)).rejects.toMatchObject({ code: 'exhausted' });
  });

  it('assigns slots first whose ids useradd assigns to no new user', async () => {
    const reserve = (id: number) => reserveSlot({ dataDir: '/data/a', id: `i${id}`, stateDir });
    const slots = await Promise.all(Array.from({ length: 200 }, (_, id) => reserve(id)));
    // SUB_UID_MAX of login.defs(5).
    for (const slot of slots) expect(toBaseUid(slot)).toBeGreaterThan(600_100_000);
  });

  it('assigns slots at random, so that ids and addresses are not reused at once', async () => {
    const slots: number[] = [];
    for (let id = 0; id < 20; id += 1)
      slots.push(await reserveSlot({ dataDir: '/data/a', id: `i${id}`, stateDir }));
    expect(new Set(slots).size).toBe(20);
    // Slots are chosen at random of more than 7000: those of a counter would be neighbours.
    expect(slots.filter((slot) => slots.includes(slot + 1) || slots.includes(slot - 1)).length).toBeLessThan(
      10,
    );
  });

  it('assigns the first and the last slot when no other is left', async () => {
    for (const [id, slot] of [
      ['first', 0],
      ['last', 16_383],
    ] as const) {
      const foreignIds = [
        { first: 0, count: toBaseUid(slot) },
        { first: toBaseUid(slot) + 65_536, count: 2 ** 31 },
      ];
      const reserve = () => reserveSlot({ dataDir: '/data/a', id, stateDir, foreignIds });
      expect(await reserve()).toBe(slot);
      await expect(reserve()).rejects.toMatchObject({ code: 'exhausted' });
    }
  });

  it('keeps each reservation as a link without a target, in folders that are made when missing', async () => {
    const missing = join(stateDir, 'not', 'there');
    const slot = await reserveSlot({ dataDir: '/data/a', id: 'i1', stateDir: missing });
    expect(await readlink(join(missing, 'slots', String(slot)))).toBe('i1 /data/a');
    expect(await readdir(missing)).toEqual(['slots']);
    expect([defaultStateDir, slotNetwork]).toEqual(['/run/skerry', '10.201.0.0/16']);
  });

  it('rejects where no slot can be stored or read, and reserves none then', async () => {
    const file = join(stateDir, 'file');
    await writeFile(file, '');
    const owner = { dataDir: '/data/a', id: 'i1', stateDir: file };
    await expect(reserveSlot({ ...owner, preferred: 5 })).rejects.toMatchObject({
      code: 'internal',
      cause: { code: 'ENOTDIR' },
    });
    await expect(listSlots({ stateDir: file })).rejects.toMatchObject({ code: 'ENOTDIR' });
    await expect(releaseSlot({ ...owner, slot: 5 })).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  it('does not take what another program left there for a slot', async () => {
    await mkdir(join(stateDir, 'slots'));
    await symlink('other', join(stateDir, 'slots', '7'));
    expect(await listSlots({ stateDir })).toEqual([]);
    const owner = { dataDir: '/data/a', id: 'i1', stateDir };
    expect(await reserveSlot({ ...owner, preferred: 7 })).not.toBe(7);
  });

  it('reports the owner of a slot for any name of the data folder', async () => {
    const slot = await reserveSlot({ dataDir: '/with space/and\nline', id: 'i1', stateDir });
    expect(await listSlots({ stateDir })).toEqual([{ slot, id: 'i1', dataDir: '/with space/and\nline' }]);
  });

  it('does not release the slot of another owner, and releases its own twice without an error', async () => {
    const slot = await reserveSlot({ dataDir: '/data/a', id: 'i1', stateDir });
    await releaseSlot({ slot, dataDir: '/data/b', id: 'i1', stateDir });
    await releaseSlot({ slot, dataDir: '/data/a', id: 'i2', stateDir });
    expect(await listSlots({ stateDir })).toHaveLength(1);
    await releaseSlot({ slot, dataDir: '/data/a', id: 'i1', stateDir });
    await releaseSlot({ slot, dataDir: '/data/a', id: 'i1', stateDir });
    expect(await listSlots({ stateDir })).toEqual([]);
  });

  it('releases the slots of a deleted data folder, except those that are still in use', async () => {
    await reserveSlot({ dataDir: stateDir, id: 'there', stateDir });
    await reserveSlot({ dataDir: '/deleted', id: 'gone', stateDir });
    const used = await reserveSlot({ dataDir: '/deleted', id: 'used', stateDir });
    await releaseAbandonedSlots({ stateDir, isInUse: (slot) => slot === used });
    expect((await listSlots({ stateDir })).map(({ id }) => id).sort()).toEqual(['there', 'used']);
  });

  it('lists nothing where no slot was ever reserved', async () => {
    expect(await listSlots({ stateDir: join(stateDir, 'none') })).toEqual([]);
  });

  it('assigns ids and two addresses of its own to each slot', () => {
    expect(toBaseUid(0)).toBe(100_000);
    expect(toBaseUid(1)).toBe(165_536);
    expect(toBaseUid(16_383) + 65_535).toBeLessThan(2 ** 31);
    expect(toSlotAddresses(0)).toEqual({ host: '10.201.0.1', guest: '10.201.0.2' });
    expect(toSlotAddresses(64)).toEqual({ host: '10.201.1.1', guest: '10.201.1.2' });
    expect(toSlotAddresses(16_383)).toEqual({ host: '10.201.255.253', guest: '10.201.255.254' });
    for (const slot of [0, 1, 16_383]) expect(toSlot(toBaseUid(slot))).toBe(slot);
    for (const slot of [-1, 16_384, 16_385, 1.5, Number.NaN])
      expect(() => toBaseUid(slot)).toThrow(
        expect.objectContaining({ code: 'internal', message: `a slot is 0 to 16383, got ${slot}` }),
      );
  });
});
