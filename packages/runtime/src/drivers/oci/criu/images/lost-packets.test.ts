import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  type InternetSocket,
  InternetSocketSchema,
  TcpStreamSchema,
} from '../../../../gen/criu/images/images_pb.ts';
import { parseFirst, toImageBytes } from './image-file.ts';
import { resendLostPackets } from './lost-packets.ts';

const [TCP, ESTABLISHED, CLOSE_WAIT, LOOPBACK] = [6, 1, 8, 0x0100007f];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lost-packets-'));
});
afterEach(() => rm(folder, { recursive: true }));

const toPath = (inode: number): string => join(folder, `tcp-stream-${inode.toString(16)}.img`);

interface Stream {
  receivedEnd: number;
  writtenBytes: number;
  writtenEnd: number;
  unsentBytes: number;
}

const write = async (inode: number, stream: Stream): Promise<void> => {
  const messages = [create(TcpStreamSchema, stream)];
  const head = await toImageBytes(TcpStreamSchema, { magic: Buffer.from('magic123'), messages });
  await writeFile(toPath(inode), Buffer.concat([head, Buffer.from('raw bytes of the queues')]));
};

const read = async (inode: number): Promise<{ unsentBytes: number; rest: string; magic: string }> => {
  const { magic, message, rest } = parseFirst(TcpStreamSchema, await readFile(toPath(inode)));
  return { unsentBytes: message.unsentBytes, rest: rest.toString(), magic: magic.toString() };
};

/** Two ends of a connection over loopback, with the inodes 0xa1 and 0xb2. */
const toEnds = (change: Partial<InternetSocket> = {}): InternetSocket[] =>
  [
    { inode: 0xa1, sourcePort: 1000, destinationPort: 2000, ...change },
    { inode: 0xb2, sourcePort: 2000, destinationPort: 1000 },
  ].map((ports) =>
    create(InternetSocketSchema, {
      ...{ protocol: TCP, state: ESTABLISHED, source: [LOOPBACK], destination: [LOOPBACK] },
      ...ports,
    }),
  );

it.each([
  { what: 'part of it was sent and lost', receivedEnd: 700, expected: 300 },
  { what: 'all of it was lost', receivedEnd: 0, expected: 1000 },
  { what: 'all that was sent has arrived', receivedEnd: 900, expected: 100 },
  { what: 'more arrived than was sent, which cannot be', receivedEnd: 950, expected: 100 },
  { what: 'the numbers do not belong together', receivedEnd: 5000, expected: 100 },
])('what the other end has not received is unsent: $what', async ({ receivedEnd, expected }) => {
  await write(0xa1, { receivedEnd: 9, writtenBytes: 1000, writtenEnd: 1000, unsentBytes: 100 });
  await write(0xb2, { receivedEnd, writtenBytes: 0, writtenEnd: 9, unsentBytes: 0 });
  await resendLostPackets(toEnds(), folder);
  expect(await read(0xa1)).toEqual({
    unsentBytes: expected,
    rest: 'raw bytes of the queues',
    magic: 'magic123',
  });
  expect((await read(0xb2)).unsentBytes).toBe(0);
});

it('sequence numbers that begin again at zero are followed', async () => {
  await write(0xa1, { receivedEnd: 9, writtenBytes: 1000, writtenEnd: 500, unsentBytes: 0 });
  await write(0xb2, { receivedEnd: 2 ** 32 - 100, writtenBytes: 0, writtenEnd: 9, unsentBytes: 0 });
  await resendLostPackets(toEnds(), folder);
  expect((await read(0xa1)).unsentBytes).toBe(600);
});

it('connections that are being closed, and those with an end elsewhere, stay as they are', async () => {
  await write(0xa1, { receivedEnd: 9, writtenBytes: 1000, writtenEnd: 1000, unsentBytes: 100 });
  await write(0xb2, { receivedEnd: 0, writtenBytes: 0, writtenEnd: 9, unsentBytes: 0 });
  for (const change of [{ state: CLOSE_WAIT }, { destinationPort: 3000 }, { protocol: 17 }])
    await resendLostPackets(toEnds(change), folder);
  expect((await read(0xa1)).unsentBytes).toBe(100);
});
