const NEWLINE = 0x0a;

/** Reads lines, and between them bytes of a known number. */
export interface CallReader {
  /** The next line; undefined at the end. */
  line(): Promise<string | undefined>;
  /** The bytes that follow it. Read them to their end before the next line; rejects when there are fewer. */
  take(sizeBytes: number): AsyncGenerator<Buffer>;
}

export const createCallReader = (source: AsyncIterable<Buffer>): CallReader => {
  const pieces = source[Symbol.asyncIterator]();
  /** What has arrived and is not read. */
  let held: Buffer = Buffer.alloc(0);
  const receive = async (): Promise<boolean> => {
    const { done = false, value } = await pieces.next();
    if (!done) held = held.length === 0 ? value : Buffer.concat([held, value]);
    return !done;
  };
  return {
    line: async () => {
      for (;;) {
        const end = held.indexOf(NEWLINE);
        if (end === -1) {
          if (!(await receive())) return undefined;
          continue;
        }
        const text = held.toString('utf8', 0, end);
        held = held.subarray(end + 1);
        return text;
      }
    },
    take: async function* (sizeBytes) {
      for (let left = sizeBytes; left > 0; ) {
        if (held.length === 0 && !(await receive())) throw new Error(`the input ends ${left} bytes too soon`);
        const piece = held.subarray(0, left);
        held = held.subarray(piece.length);
        left -= piece.length;
        yield piece;
      }
    },
  };
};
