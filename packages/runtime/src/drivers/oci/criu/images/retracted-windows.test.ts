import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { acceptRetractedWindows } from './retracted-windows.ts';
import { readEnd, toEnds, writeEnd } from './testing/connection.ts';

const [CLOSE, CLOSE_WAIT, UDP] = [7, 8, 17];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'retracted-windows-'));
});
afterEach(() => rm(folder, { recursive: true }));

const queues = { writtenBytes: 1000, writtenEnd: 1000, unsentBytes: 100 };
const usual = { ...queues, receivedEnd: 500, receiveWindowBytes: 100, windowUpdateAt: 500 };
const retracted = { ...queues, receivedEnd: 500, receiveWindowBytes: 0, windowUpdateAt: 800 };

it.each([
  { what: 'nothing is accepted any more', numbers: retracted, expected: 500 },
  { what: 'less is accepted', numbers: { ...retracted, receiveWindowBytes: 299 }, expected: 799 },
  {
    what: 'it is the last that is accepted',
    numbers: { ...retracted, receiveWindowBytes: 300 },
    expected: 800,
  },
  { what: 'it has arrived long ago', numbers: { ...usual, windowUpdateAt: 20 }, expected: 20 },
  {
    what: 'the window ends where numbers begin again at zero',
    numbers: { ...retracted, receivedEnd: 2 ** 32 - 10, receiveWindowBytes: 15, windowUpdateAt: 70 },
    expected: 5,
  },
  {
    what: 'it has arrived before numbers began again at zero',
    numbers: { ...usual, windowUpdateAt: 2 ** 32 - 10 },
    expected: 2 ** 32 - 10,
  },
])('no change of the window comes from beyond what is accepted: $what', async ({ numbers, expected }) => {
  await writeEnd(folder, 0xa1, usual);
  await writeEnd(folder, 0xb2, numbers);
  await acceptRetractedWindows(toEnds(), folder);
  expect(await readEnd(folder, 0xa1)).toMatchObject(usual);
  expect(await readEnd(folder, 0xb2)).toMatchObject({ ...numbers, windowUpdateAt: expected });
});

it('a connection that the other end has closed is changed, too', async () => {
  await writeEnd(folder, 0xa1, retracted);
  await writeEnd(folder, 0xb2, usual);
  await acceptRetractedWindows(toEnds({ state: CLOSE_WAIT }), folder);
  expect((await readEnd(folder, 0xa1)).windowUpdateAt).toBe(500);
});

it.each([{ state: CLOSE }, { destinationPort: 0 }, { protocol: UDP }])(
  'no image is needed of a socket without a TCP connection: %o',
  async (change) => {
    await writeEnd(folder, 0xb2, usual);
    await acceptRetractedWindows(toEnds(change), folder);
    expect(await readEnd(folder, 0xb2)).toMatchObject(usual);
  },
);
