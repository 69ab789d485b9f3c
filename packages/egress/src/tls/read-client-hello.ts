/** The hello with its server name, that it is none, or how many bytes there must be before the next attempt. */
export type HelloResult = { serverName: string | undefined } | 'malformed' | { needs: number };

/** The longest hello that is read, with the headers of its records. */
export const MAX_HELLO_BYTES = 65_536;

/** The most records of one hello. Each costs another attempt to read it. */
const MAX_RECORDS = 64;

const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const RECORD_HEADER_BYTES = 5;
const MAX_RECORD_BYTES = 16_384;
const SERVER_NAME_EXTENSION = 0;
const HOST_NAME = 0;

/**
 * Reads the server name of a TLS client hello (RFC 8446, 4.1.2), which may be spread over several records. `bytes` is all that has
 * arrived. Never throws.
 */
export const readClientHello = (bytes: Buffer): HelloResult => {
  const parts: Buffer[] = [];
  let count = 0;
  for (let at = 0; ; ) {
    if (bytes.length < at + RECORD_HEADER_BYTES) return toNeed(at + RECORD_HEADER_BYTES);
    const length = bytes.readUInt16BE(at + 3);
    // An empty record of a handshake is not allowed (RFC 8446, 5.1).
    if (bytes[at] !== HANDSHAKE_RECORD || bytes[at + 1] !== 3 || length === 0 || length > MAX_RECORD_BYTES)
      return 'malformed';
    const end = at + RECORD_HEADER_BYTES + length;
    if (bytes.length < end) return toNeed(end);
    parts.push(bytes.subarray(at + RECORD_HEADER_BYTES, end));
    count += length;
    at = end;
    if (parts.length > MAX_RECORDS) return 'malformed';
    if (count < 4) continue;
    const handshake = Buffer.concat(parts);
    if (handshake[0] !== CLIENT_HELLO) return 'malformed';
    const whole = 4 + handshake.readUIntBE(1, 3);
    if (whole > MAX_HELLO_BYTES) return 'malformed';
    if (count < whole) continue;
    // A client sends nothing after its hello but early data, which is in records of another type.
    return count === whole ? readServerName(handshake.subarray(4)) : 'malformed';
  }
};

const toNeed = (needs: number): HelloResult => (needs > MAX_HELLO_BYTES ? 'malformed' : { needs });

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
