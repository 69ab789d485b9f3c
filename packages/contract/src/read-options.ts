import type { OnReadOpts, Socket } from 'node:net';
import type { SocketReader } from './directory.ts';

/** The options of `net.connect` and `tls.connect` with which a reader decides where the connection reads to. `socket` is called with each read. */
export const toReadOptions = (
  reader: SocketReader | undefined,
  socket: () => Socket,
): { onread?: OnReadOpts } =>
  reader === undefined
    ? {}
    : {
        onread: {
          buffer: () => reader.nextBuffer(),
          callback: (sizeBytes, buffer) => reader.receive(socket(), sizeBytes, buffer),
        },
      };
