/** The server name of a hello, or that it is none. */
export type HelloResult = { serverName: string | undefined } | 'malformed';

/** The longest hello that is read, with the headers of its records. */
const MAX_HELLO_BYTES = 65_536;

/** The most records of one hello. */
const MAX_RECORDS = 64;

/** The most pieces in which a hello may arrive. */
export const MAX_PIECES = 256;

const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const RECORD_HEADER_BYTES = 5;
const MESSAGE_HEADER_BYTES = 4;
const MAX_RECORD_BYTES = 16_384;
const SERVER_NAME_EXTENSION = 0;
const HOST_NAME = 0;

/** Reads one hello in the pieces in which it arrives. */
export interface HelloReader {
  /** Takes the next piece. Undefined while the hello is not complete; to be called no more after another result. Never throws. */
  read(piece: Buffer): HelloResult | undefined;
}

/**
 * Returns a reader for the server name of a TLS client hello (RFC 8446, 4.1.2), which may be spread over several records. Each byte is
 * looked at once, and the message is joined once.
 */
export const createHelloReader = (): HelloReader => {
  const recordHeader = Buffer.alloc(RECORD_HEADER_BYTES);
  const messageHeader = Buffer.alloc(MESSAGE_HEADER_BYTES);
  const parts: Buffer[] = [];
  let pieces = 0;
  let headerCount = 0;
  /** The bytes of the record that are still to come. */
  let left = 0;
  let records = 0;
  /** The bytes of the message that have arrived. */
  let count = 0;
  /** The bytes of all records, with their headers. */
  let total = 0;

  const isRecordAllowed = (): boolean => {
    left = recordHeader.readUInt16BE(3);
    total += RECORD_HEADER_BYTES + left;
    records += 1;
    // An empty record of a handshake is not allowed (RFC 8446, 5.1).
    const isHandshake = recordHeader[0] === HANDSHAKE_RECORD && recordHeader[1] === 3 && left > 0;
    return isHandshake && left <= MAX_RECORD_BYTES && total <= MAX_HELLO_BYTES && records <= MAX_RECORDS;
  };

  return {
    read: (piece) => {
      pieces += 1;
      if (pieces > MAX_PIECES) return 'malformed';
      for (let at = 0; at < piece.length; ) {
        if (left === 0) {
          const copied = piece.copy(recordHeader, headerCount, at);
          headerCount += copied;
          at += copied;
          if (headerCount < RECORD_HEADER_BYTES) return undefined;
          headerCount = 0;
          if (!isRecordAllowed()) return 'malformed';
          continue;
        }
        const part = piece.subarray(at, at + left);
        if (count < MESSAGE_HEADER_BYTES) part.copy(messageHeader, count);
        parts.push(part);
        count += part.length;
        left -= part.length;
        at += part.length;
        if (messageHeader[0] !== CLIENT_HELLO) return 'malformed';
        if (count < MESSAGE_HEADER_BYTES) continue;
        const whole = MESSAGE_HEADER_BYTES + messageHeader.readUIntBE(1, 3);
        // A client sends nothing after its hello but early data, which is in records of another type.
        if (whole > MAX_HELLO_BYTES || count + left > whole) return 'malformed';
        if (count === whole) return readServerName(Buffer.concat(parts).subarray(MESSAGE_HEADER_BYTES));
      }
      return undefined;
    },
  };
};

/** Reads the body of a whole hello. */
const readServerName = (body: Buffer): HelloResult => {
  const reader = createReader(body);
  // Version and random.
  reader.skip(34);
  // Session, cipher suites, compression methods.
  reader.skip(reader.number(1));
  reader.skip(reader.number(2));
  reader.skip(reader.number(1));
  if (reader.isFailed()) return 'malformed';
  if (reader.left() === 0) return { serverName: undefined };
  const extensions = createReader(reader.take(reader.number(2)));
  if (reader.isFailed() || reader.left() > 0) return 'malformed';
  let serverName: string | undefined;
  while (extensions.left() > 0) {
    const type = extensions.number(2);
    const content = extensions.take(extensions.number(2));
    if (extensions.isFailed()) return 'malformed';
    if (type !== SERVER_NAME_EXTENSION) continue;
    const name = readHostName(content);
    // Twice: servers differ in which one they take.
    if (name === undefined || serverName !== undefined) return 'malformed';
    serverName = name;
  }
  return { serverName };
};

/** Reads the list of names, which has exactly one host name (RFC 6066, 3). */
const readHostName = (content: Buffer): string | undefined => {
  const outer = createReader(content);
  const list = createReader(outer.take(outer.number(2)));
  const type = list.number(1);
  const name = list.take(list.number(2));
  const isOne = !outer.isFailed() && !list.isFailed() && outer.left() === 0 && list.left() === 0;
  return isOne && type === HOST_NAME && name.length > 0 ? name.toString('latin1') : undefined;
};

/** Reads a buffer from its start. What is not there is empty or 0, and shows in `isFailed`. */
const createReader = (bytes: Buffer) => {
  let at = 0;
  let failed = false;
  const take = (count: number): Buffer => {
    if (at + count > bytes.length) failed = true;
    const taken = bytes.subarray(at, at + count);
    at = Math.min(at + count, bytes.length);
    return taken;
  };
  return {
    take,
    skip: (count: number): void => void take(count),
    number: (size: 1 | 2): number => {
      const taken = take(size);
      return taken.length === size ? taken.readUIntBE(0, size) : 0;
    },
    left: (): number => bytes.length - at,
    isFailed: (): boolean => failed,
  };
};
