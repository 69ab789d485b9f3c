import type { Socket } from 'node:net';

/** No request of HTTP/1 starts like this; one byte fewer and a slow `PROPFIND` would look the same. */
const HTTP2_START = Buffer.from('PRI');

/** RFC 9110, 15.5.9. Node sends the same when headers do not arrive in time. */
const TIMEOUT_ANSWER = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n';

/**
 * Waits for as many first bytes of a connection as distinguish HTTP/1 from HTTP/2, and calls one of the two callbacks. All bytes
 * are still to be read then. Ends the connection when the client does, or when the bytes take longer than `timeoutMs`.
 */
export const recognizeProtocol = (
  socket: Socket,
  { timeoutMs, onHttp1, onHttp2 }: { timeoutMs: number; onHttp1: () => void; onHttp2: () => void },
): void => {
  let head: Buffer = Buffer.alloc(0);
  let isKnown = false;
  const timer = setTimeout(() => {
    // When this process was held up, timers fire before the bytes that arrived meanwhile are read: read them first.
    setImmediate(() => {
      if (isKnown) return;
      socket.write(TIMEOUT_ANSWER);
      socket.destroySoon();
    });
  }, timeoutMs);
  const leave = (): void => void socket.destroy();
  const read = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    const isHttp2 = head.subarray(0, HTTP2_START.length).equals(HTTP2_START.subarray(0, head.length));
    if (isHttp2 && head.length < HTTP2_START.length) return;
    stop();
    socket.unshift(head);
    if (isHttp2) onHttp2();
    else onHttp1();
  };
  const stop = (): void => {
    isKnown = true;
    clearTimeout(timer);
    socket.off('readable', read).off('end', leave).off('error', leave).off('close', stop);
  };
  socket.on('readable', read).on('end', leave).on('error', leave).on('close', stop);
};
