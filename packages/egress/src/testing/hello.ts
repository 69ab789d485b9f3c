import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** Returns the first bytes that Node's TLS client sends. */
export const captureHello = async (serverName: string | undefined): Promise<Buffer> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const client = connectTls({ socket, ...(serverName !== undefined && { servername: serverName }) });
  client.on('error', () => {
    // The server never answers.
  });
  const [accepted] = await once(server, 'connection');
  const [bytes] = await once(accepted, 'data');
  client.destroy();
  accepted.destroy();
  server.close();
  return bytes as Buffer;
};

const uint16 = (value: number): Buffer => Buffer.of(value >> 8, value & 255);
const sized = (content: Buffer): Buffer => Buffer.concat([uint16(content.length), content]);
const extension = (type: number, content: Buffer): Buffer => Buffer.concat([uint16(type), sized(content)]);

/** Returns a client hello in one record, with an extension for each name. */
export const toHello = (options: { serverNames: string[]; paddingBytes?: number }): Buffer => {
  const { serverNames, paddingBytes = 0 } = options;
  const names = serverNames.map((name) =>
    extension(0, sized(Buffer.concat([Buffer.of(0), sized(Buffer.from(name))]))),
  );
  const padding = paddingBytes > 0 ? [extension(21, Buffer.alloc(Math.min(paddingBytes, 65_000)))] : [];
  const extensions = Buffer.concat([...names, ...padding]);
  const body = Buffer.concat([
    Buffer.of(3, 3),
    Buffer.alloc(32),
    Buffer.of(0),
    sized(Buffer.of(0x13, 0x01)),
    Buffer.of(1, 0),
    sized(extensions),
  ]);
  // A length that the three bytes of a message can have and the two of its extensions cannot.
  const length = body.length + Math.max(0, paddingBytes - 65_000);
  const handshake = Buffer.concat([Buffer.of(1, length >> 16), uint16(length & 0xffff), body]);
  return Buffer.concat([Buffer.of(22, 3, 1), uint16(Math.min(handshake.length, 0xffff)), handshake]);
};

/** Spreads the message of a hello over records of at most `size` bytes. */
export const splitIntoRecords = (hello: Buffer, size: number): Buffer => {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.concat([Buffer.of(22, 3, 1), uint16(part.length), part]));
  }
  return Buffer.concat(records);
};
