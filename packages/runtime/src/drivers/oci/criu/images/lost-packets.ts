import { closeSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { createYielder } from '../../../../concurrency/yielder.ts';
import {
  type InternetSocket,
  type TcpStream,
  TcpStreamSchema,
} from '../../../../gen/criu/images/images_pb.ts';
import { type ConnectionPair, pairConnections } from './connection-images.ts';
import { parseFirst, toImageBytes } from './image-file.ts';

/**
 * Marks what the other end of a connection over loopback has not received as unsent. What counts as sent is lost: the receiver
 * had no memory for it, or the packet was stopped for the dump. TCP would send it again only when its timer has run out, in a
 * copy after seconds; what is unsent goes out at once.
 */
export const resendLostPackets = async (
  sockets: readonly InternetSocket[],
  folder: string,
): Promise<void> => {
  const yielder = createYielder();
  for (const pair of pairConnections(sockets)) {
    await markUnsent(pair, folder);
    await yielder();
  }
};

const markUnsent = async ({ one, other }: ConnectionPair, folder: string): Promise<void> => {
  const [path, sent] = readStream(folder, one);
  const inFlightBytes = sent.writtenBytes - sent.unsentBytes;
  if (inFlightBytes === 0) return;
  const [, received] = readStream(folder, other);
  // Sequence numbers begin again at 0.
  const missingBytes = (sent.writtenEnd - received.receivedEnd) >>> 0;
  if (missingBytes <= sent.unsentBytes || missingBytes > sent.writtenBytes) return;
  const { magic, message, rest } = parseFirst(TcpStreamSchema, readFileSync(path));
  message.unsentBytes = missingBytes;
  const head = await toImageBytes(TcpStreamSchema, { magic, messages: [message] });
  writeFileSync(path, Buffer.concat([head, rest]));
};

/** More than the message takes, which has some 20 numbers. */
const HEAD_BYTES = 512;

const readStream = (folder: string, { inode }: InternetSocket): [path: string, stream: TcpStream] => {
  const path = `${folder}/tcp-stream-${inode.toString(16)}.img`;
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    const length = readSync(file, head);
    return [path, parseFirst(TcpStreamSchema, head.subarray(0, length)).message];
  } finally {
    closeSync(file);
  }
};
