import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';

/** Types and flags of frames (RFC 9113, 6). */
export const DATA = 0;
export const HEADERS = 1;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const GOAWAY = 7;
export const CONTINUATION = 9;
export const END_STREAM = 1;
export const END_HEADERS = 4;

export interface Frame {
  type: number;
  flags: number;
  stream: number;
  payload: Buffer;
}

export const toFrame = (
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

/** An integer with a prefix of seven bits (RFC 7541, 5.1). */
const toInteger = (value: number): number[] => {
  if (value < 127) return [value];
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128);
  return [...bytes, rest];
};
const toText = (text: string): Buffer =>
  Buffer.concat([Buffer.from(toInteger(Buffer.byteLength(text, 'latin1'))), Buffer.from(text, 'latin1')]);

/** Fields as they are, whatever a client may send (RFC 7541, 6.2.2). */
export const toFields = (fields: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat(
    fields.map(([name, value]) => Buffer.concat([Buffer.from([0]), toText(name), toText(value)])),
  );

/** A connection that sends frames as they are given, and keeps what comes back. */
export class RawHttp2 {
  readonly socket: TLSSocket;
  readonly frames: Frame[] = [];
  readonly closed: Promise<unknown>;
  #rest = Buffer.alloc(0);

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined).on('data', (bytes: Buffer) => this.#read(bytes));
  }

  static async open(options: {
    host: string;
    port: number;
    servername: string;
    ca?: string;
  }): Promise<RawHttp2> {
    const socket = connect({ ...options, ALPNProtocols: ['h2'] });
    const raw = new RawHttp2(socket);
    await once(socket, 'secureConnect');
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    raw.send(toFrame(SETTINGS, 0, 0));
    return raw;
  }

  send(...frames: Buffer[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  /** The codes of streams that the server has reset. */
  resets(): Map<number, number> {
    const found = this.frames.filter(({ type }) => type === RST_STREAM);
    return new Map(found.map(({ stream, payload }) => [stream, payload.readUInt32BE(0)]));
  }

  /** Whether the server has reset the stream, or ended the connection for an error. */
  hasRefused(stream: number): boolean {
    const last = this.frames.findLast(({ type }) => type === GOAWAY);
    return this.resets().has(stream) || (last !== undefined && last.payload.readUInt32BE(4) !== 0);
  }

  #read(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.#rest.length >= 9) {
      const size = 9 + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < size) return;
      const [type = 0, flags = 0] = this.#rest.subarray(3, 5);
      const stream = this.#rest.readUInt32BE(5) & 0x7fffffff;
      this.frames.push({ type, flags, stream, payload: this.#rest.subarray(9, size) });
      this.#rest = this.#rest.subarray(size);
    }
  }
}
