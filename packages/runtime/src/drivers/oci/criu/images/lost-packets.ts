import { createYielder } from '../../../../concurrency/yielder.ts';
import type { InternetSocket } from '../../../../gen/criu/images/images_pb.ts';
import { type ConnectionPair, pairConnections } from './connection-images.ts';
import { changeStream, readStream } from './stream-image.ts';

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
  const sent = readStream(folder, one);
  const inFlightBytes = sent.writtenBytes - sent.unsentBytes;
  if (inFlightBytes === 0) return;
  const received = readStream(folder, other);
  // Sequence numbers begin again at 0.
  const missingBytes = (sent.writtenEnd - received.receivedEnd) >>> 0;
  if (missingBytes <= sent.unsentBytes || missingBytes > sent.writtenBytes) return;
  await changeStream(folder, one, { unsentBytes: missingBytes });
};
