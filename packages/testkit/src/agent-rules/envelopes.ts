/** One message of a Connect stream as it goes over the wire: flags, length, payload. */
export const envelope = (message: unknown, flags = 0): Buffer => {
  const payload = Buffer.isBuffer(message) ? message : Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
};

export interface Envelope {
  readonly flags: number;
  readonly payload: Buffer;
  /** What the payload says, unless it is compressed or binary. */
  readonly json: unknown;
}

const parse = (payload: Buffer): unknown => {
  try {
    return JSON.parse(payload.toString());
  } catch {
    return undefined; // Not JSON; the test looks at the bytes.
  }
};

/** The messages of a whole stream. Throws when it ends in the middle of one. */
export const readEnvelopes = (body: Buffer): Envelope[] => {
  const messages: Envelope[] = [];
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    if (end > body.length) throw new Error(`the stream ends ${end - body.length} bytes early`);
    const payload = body.subarray(at + 5, end);
    messages.push({ flags: body.readUInt8(at), payload, json: parse(payload) });
    at = end;
  }
  return messages;
};
