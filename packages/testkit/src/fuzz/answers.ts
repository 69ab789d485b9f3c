import { connect } from 'node:net';
import { HTTPParser } from 'http-parser-js';

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  readonly isComplete: boolean;
}

export interface Conversation {
  readonly answers: readonly Answer[];
  /** `silent`: open, and nothing has come for as long as the asker waits. `malformed`: what came is not HTTP. */
  readonly end: 'complete' | 'closed' | 'silent' | 'malformed';
}

const toMap = (flat: readonly string[]): Map<string, string> => {
  const headers = new Map<string, string>();
  for (let at = 0; at + 1 < flat.length; at += 2)
    headers.set((flat[at] ?? '').toLowerCase(), flat[at + 1] ?? '');
  return headers;
};

/** Reads answers from the bytes of a connection. */
const createReader = ({ isHead }: { isHead: boolean }) => {
  const answers: { status: number; headers: Map<string, string>; chunks: Buffer[]; isComplete: boolean }[] =
    [];
  const parser = new HTTPParser(HTTPParser.RESPONSE);
  parser[HTTPParser.kOnHeadersComplete] = ({ statusCode, headers }) => {
    answers.push({ status: statusCode, headers: toMap(headers), chunks: [], isComplete: false });
    return isHead ? 1 : 0;
  };
  parser[HTTPParser.kOnBody] = (chunk, offset, length) => {
    answers.at(-1)?.chunks.push(Buffer.from(chunk.subarray(offset, offset + length)));
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    const last = answers.at(-1);
    if (last !== undefined) last.isComplete = true;
  };
  const isFinal = ({ status }: { status: number }): boolean => status >= 200;
  return {
    /** Whether an answer has begun, without what it says so far. */
    hasBegun: (): boolean => answers.some(isFinal),
    /** Whether the last answer is whole. */
    isComplete: (): boolean => answers.findLast(isFinal)?.isComplete === true,
    /** False when the bytes are no answer. */
    read: (bytes: Buffer): boolean => !(parser.execute(bytes) instanceof Error),
    /** An answer without a length ends with the connection. */
    finish: (): void => void parser.finish(),
    answers: (): Answer[] =>
      answers.filter(isFinal).map(({ chunks, ...rest }) => ({ ...rest, body: Buffer.concat(chunks) })),
  };
};

export interface Expectation {
  /** The answer to HEAD has no body, whatever it says. */
  readonly isHead: boolean;
  /** An answer is due. Otherwise the sender closes its side after a moment, and leaves after another. */
  readonly isWhole: boolean;
  /** The answer may stay open. */
  readonly isStream: boolean;
}

const PATIENCE_MS = 30_000;
/** How long half a request, or a stream that has begun, is given. */
const GLANCE_MS = 40;

/**
 * Sends packets over a connection of its own and reads what comes back, until an answer is whole, the other side closes, or
 * nothing more can be expected.
 */
export const converse = (
  address: { host: string; port: number },
  packets: readonly Uint8Array[],
  { isHead, isWhole, isStream }: Expectation,
): Promise<Conversation> =>
  new Promise((resolve) => {
    const socket = connect({ ...address, noDelay: true, allowHalfOpen: true });
    const reader = createReader({ isHead });
    const patienceMs = (): number => {
      if (!isWhole) return GLANCE_MS;
      return isStream && reader.hasBegun() ? GLANCE_MS : PATIENCE_MS;
    };
    const finish = (end: Conversation['end']): void => {
      clearTimeout(timer);
      socket.removeAllListeners('data').destroy();
      resolve({ answers: reader.answers(), end });
    };
    const onSilence = (): void => {
      if (isWhole || socket.writableEnded) {
        finish('silent');
        return;
      }
      // Says that nothing more is coming, which deserves an answer or an end.
      socket.end();
      timer = setTimeout(onSilence, GLANCE_MS);
    };
    let timer = setTimeout(onSilence, PATIENCE_MS);
    socket.on('data', (bytes) => {
      // A stream may go on for ever: what comes after its beginning moves no end.
      const isGlance = isWhole && isStream && reader.hasBegun();
      if (!reader.read(bytes)) finish('malformed');
      else if (reader.isComplete()) finish('complete');
      else if (!isGlance) {
        clearTimeout(timer);
        timer = setTimeout(onSilence, patienceMs());
      }
    });
    // A reset says no more than the close that follows it.
    socket.on('error', () => undefined);
    socket.once('end', () => {
      reader.finish();
      finish(reader.isComplete() ? 'complete' : 'closed');
    });
    socket.once('close', () => finish('closed'));
    socket.once('connect', () => {
      clearTimeout(timer);
      timer = setTimeout(onSilence, patienceMs());
    });
    // Packets of one turn would go out as one.
    const [first = Buffer.alloc(0), ...rest] = packets;
    socket.write(first);
    const sendRest = (): void => {
      const next = rest.shift();
      if (next === undefined || socket.destroyed) return;
      socket.write(next);
      setImmediate(sendRest);
    };
    setImmediate(sendRest);
  });
