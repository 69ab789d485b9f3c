import { createServer, type Server, type Socket } from 'node:net';

/**
 * A server whose connections are passed on with the first bytes that they carry. One that ends before that is closed: probes of
 * Kubernetes only connect. `onOpen` gets each connection first. The ends of a connection are separate, as `allowHalfOpen` of Node.
 */
export const createFirstBytesServer = ({
  onOpen,
  onBytes,
}: {
  onOpen: (socket: Socket) => void;
  onBytes: (socket: Socket) => void;
}): Server =>
  createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    onOpen(socket);
    socket.once('readable', () => {
      const first = socket.read() as Buffer | null;
      if (first === null) {
        socket.destroy();
        return;
      }
      socket.unshift(first);
      onBytes(socket);
    });
  });
