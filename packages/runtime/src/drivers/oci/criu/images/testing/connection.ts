import { readFile, writeFile } from 'node:fs/promises';
import { create } from '@bufbuild/protobuf';
import {
  type InternetSocket,
  InternetSocketSchema,
  type TcpStream,
  TcpStreamSchema,
} from '../../../../../gen/criu/images/images_pb.ts';
import { parseFirst, toImageBytes } from '../image-file.ts';

const [TCP, ESTABLISHED, LOOPBACK] = [6, 1, 0x0100007f];

/** Two ends of a connection over loopback, with the inodes 0xa1 and 0xb2; `change` is of the first. */
export const toEnds = (change: Partial<InternetSocket> = {}): InternetSocket[] =>
  [
    { inode: 0xa1, sourcePort: 1000, destinationPort: 2000, ...change },
    { inode: 0xb2, sourcePort: 2000, destinationPort: 1000 },
  ].map((ports) =>
    create(InternetSocketSchema, {
      ...{ protocol: TCP, state: ESTABLISHED, source: [LOOPBACK], destination: [LOOPBACK] },
      ...ports,
    }),
  );

/** Writes the image of an end, with bytes after its numbers. */
export const writeEnd = async (
  folder: string,
  inode: number,
  numbers: Omit<TcpStream, '$typeName' | '$unknown'>,
): Promise<void> => {
  const messages = [create(TcpStreamSchema, numbers)];
  const head = await toImageBytes(TcpStreamSchema, { magic: Buffer.from('magic123'), messages });
  await writeFile(toPath(folder, inode), Buffer.concat([head, Buffer.from('raw bytes of the queues')]));
};

/** The numbers of an end. Rejects when the rest is not as `writeEnd` has written it. */
export const readEnd = async (folder: string, inode: number): Promise<TcpStream> => {
  const { magic, message, rest } = parseFirst(TcpStreamSchema, await readFile(toPath(folder, inode)));
  if (magic.toString() !== 'magic123' || rest.toString() !== 'raw bytes of the queues')
    throw new Error('the bytes beside the numbers have changed');
  return message;
};

const toPath = (folder: string, inode: number): string => `${folder}/tcp-stream-${inode.toString(16)}.img`;
