import { createServer, type Server, type Socket } from 'node:net';

/**
 * A server whose connections are passed on with the first bytes that they carry. One that ends before that, or carries nothing for so
 * long, is closed: probes of Kubernetes only connect. The ends of a connection are separate, as `allowHalfOpen` of Node.
 */
export const createFirstBytesServer = (timeoutMs: number, onConnection: (socket: Socket) => void): Server =>
  createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    const late = setTimeout(() => socket.destroy(), timeoutMs);
    socket.once('close', () => clearTimeout(late));
    socket.once('readable', () => {
      clearTimeout(late);
      const first = socket.read() as Buffer | null;
      if (first === null) {
        socket.destroy();
        return;
      }
      socket.unshift(first);
      onConnection(socket);
    });
  });
