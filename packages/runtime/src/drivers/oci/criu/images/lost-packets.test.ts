import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { resendLostPackets } from './lost-packets.ts';
import { readEnd, toEnds, writeEnd } from './testing/connection.ts';

const CLOSE_WAIT = 8;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lost-packets-'));
});
afterEach(() => rm(folder, { recursive: true }));

const window = { windowUpdateAt: 0, receiveWindowBytes: 0 };
const quiet = { receivedEnd: 0, writtenBytes: 0, writtenEnd: 9, unsentBytes: 0, ...window };
const sent = { receivedEnd: 9, writtenBytes: 1000, writtenEnd: 1000, unsentBytes: 100, ...window };

it.each([
  { what: 'part of it was sent and lost', receivedEnd: 700, expected: 300 },
  { what: 'all of it was lost', receivedEnd: 0, expected: 1000 },
  { what: 'all that was sent has arrived', receivedEnd: 900, expected: 100 },
  { what: 'more arrived than was sent, which cannot be', receivedEnd: 950, expected: 100 },
  { what: 'the numbers do not belong together', receivedEnd: 5000, expected: 100 },
])('what the other end has not received is unsent: $what', async ({ receivedEnd, expected }) => {
  await writeEnd(folder, 0xa1, sent);
  await writeEnd(folder, 0xb2, { ...quiet, receivedEnd });
  await resendLostPackets(toEnds(), folder);
  expect(await readEnd(folder, 0xa1)).toMatchObject({ ...sent, unsentBytes: expected });
  expect(await readEnd(folder, 0xb2)).toMatchObject({ ...quiet, receivedEnd });
});

it('sequence numbers that begin again at zero are followed', async () => {
  await writeEnd(folder, 0xa1, { ...sent, writtenEnd: 500, unsentBytes: 0 });
  await writeEnd(folder, 0xb2, { ...quiet, receivedEnd: 2 ** 32 - 100 });
  await resendLostPackets(toEnds(), folder);
  expect((await readEnd(folder, 0xa1)).unsentBytes).toBe(600);
});

it('connections that are being closed, and those with an end elsewhere, stay as they are', async () => {
  await writeEnd(folder, 0xa1, sent);
  await writeEnd(folder, 0xb2, quiet);
  for (const change of [{ state: CLOSE_WAIT }, { destinationPort: 3000 }, { protocol: 17 }])
    await resendLostPackets(toEnds(change), folder);
  expect(await readEnd(folder, 0xa1)).toMatchObject(sent);
});
