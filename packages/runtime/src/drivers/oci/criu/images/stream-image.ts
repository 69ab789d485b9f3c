import { closeSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import {
  type InternetSocket,
  type TcpStream,
  TcpStreamSchema,
} from '../../../../gen/criu/images/images_pb.ts';
import { parseFirst, toImageBytes } from './image-file.ts';

type StreamNumbers = Pick<TcpStream, 'unsentBytes' | 'windowUpdateAt'>;

/** The state of a socket's TCP connection, without the bytes of its queues. Throws `internal` as `parseFirst`. */
export const readStream = (folder: string, socket: InternetSocket): TcpStream => {
  const file = openSync(toPath(folder, socket), 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    const length = readSync(file, head);
    return parseFirst(TcpStreamSchema, head.subarray(0, length)).message;
  } finally {
    closeSync(file);
  }
};

/** Changes numbers in the state of a socket's TCP connection. Rejects with `internal` as `parseFirst`. */
export const changeStream = async (
  folder: string,
  socket: InternetSocket,
  change: Partial<StreamNumbers>,
): Promise<void> => {
  const path = toPath(folder, socket);
  const { magic, message, rest } = parseFirst(TcpStreamSchema, readFileSync(path));
  const head = await toImageBytes(TcpStreamSchema, { magic, messages: [Object.assign(message, change)] });
  writeFileSync(path, Buffer.concat([head, rest]));
};

/** More than the message takes, which has some 20 numbers. */
const HEAD_BYTES = 512;

const toPath = (folder: string, { inode }: InternetSocket): string =>
  `${folder}/tcp-stream-${inode.toString(16)}.img`;
