import { createYielder } from '../../../../concurrency/yielder.ts';
import type { InternetSocket } from '../../../../gen/criu/images/images_pb.ts';
import { listTcpConnections } from './connection-images.ts';
import { changeStream, readStream } from './stream-image.ts';

/**
 * Makes the connections of sockets restorable that had no memory for what arrived. The kernel then accepts less than it had
 * announced (net/ipv4/tcp_output.c, `ICSK_ACK_NOMEM`), and may have the number of a packet beyond that as the one that last
 * changed the window of the other end. It refuses to restore such a number (net/ipv4/tcp.c, `tcp_repair_set_window`), which
 * only tells old changes from new ones: the highest number that it takes serves as well. `sockets` are those after
 * `closeOutsideConnections`.
 */
export const acceptRetractedWindows = async (
  sockets: readonly InternetSocket[],
  folder: string,
): Promise<void> => {
  const yielder = createYielder();
  for (const socket of listTcpConnections(sockets)) {
    const { windowUpdateAt, receivedEnd, receiveWindowBytes } = readStream(folder, socket);
    const windowEnd = (receivedEnd + receiveWindowBytes) >>> 0;
    // Sequence numbers begin again at 0: of two, the later one is less than half of all numbers ahead.
    if (((windowUpdateAt - windowEnd) | 0) > 0)
      await changeStream(folder, socket, { windowUpdateAt: windowEnd });
    await yielder();
  }
};
