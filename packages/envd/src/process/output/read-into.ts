import type { SocketConstructorOpts } from 'node:net';

const READ_BYTES = 64 * 1024;

let buffer: Uint8Array | undefined;

/**
 * Options of a socket whose bytes go to `onBytes` as they are read, with no memory of their own: all such sockets read into one buffer,
 * which holds the bytes only until `onBytes` returns. Node would make a new buffer for each read, faster than they are collected.
 */
export const readInto = (onBytes: (bytes: Uint8Array) => void): Pick<SocketConstructorOpts, 'onread'> => {
  buffer ??= new Uint8Array(READ_BYTES);
  return {
    onread: {
      buffer,
      callback(count, bytes) {
        onBytes(bytes.subarray(0, count));
        return true;
      },
    },
  };
};
