import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
} from 'node:http2';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createAttempt } from '../attempt.ts';
import { BlobError, type BlobErrorCode, isBlobError, toBlobError } from '../blob-error.ts';
import { parseKey, parsePrefix, parseRange } from '../blob-key.ts';
import type { BlobStore } from '../blob-store.ts';
import { toBody } from '../body.ts';
import {
  bodyEnds,
  codeHeader,
  parseLine,
  rangeHeader,
  sizeHeader,
  timeHeader,
  toCount,
  toReportedError,
} from './blob-wire.ts';

/** A body that was aborted is told to the other side, which may be gone. */
const ABORT_ANSWER_MS = 5_000;

/**
 * The store that `handleBlobs` serves at the other end of a session. Calls reject with `unavailable` when the session
 * ends. `close` leaves the session open.
 */
export const createRemoteStore = (session: ClientHttp2Session): BlobStore => {
  const attempt = createAttempt(toCode);

  const ask = (headers: OutgoingHttpHeaders, { endStream }: { endStream: boolean }) => {
    const stream = session.request(headers, { endStream });
    // Reported by the answer; an error without a listener would end this process.
    stream.on('error', () => undefined);
    const answered = readAnswer(stream);
    // Awaited by every caller; this marks the rejection as handled meanwhile.
    answered.catch(() => undefined);
    return { stream, answered };
  };

  /** A request without a body, which the signal ends until it is answered. */
  const request = async (
    headers: OutgoingHttpHeaders,
    signal: AbortSignal | undefined,
  ): Promise<{ stream: ClientHttp2Stream; answer: IncomingHttpHeaders }> => {
    const { stream, answered } = ask(headers, { endStream: true });
    const abort = (): void => void stream.destroy(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return { stream, answer: await answered };
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  };

  const send = async (
    key: string,
    body: Readable,
    { sizeBytes, signal }: { sizeBytes: number | undefined; signal: AbortSignal | undefined },
  ): Promise<number> => {
    const { stream, answered } = ask(
      {
        ':method': 'PUT',
        ':path': toPath(key),
        ...(sizeBytes !== undefined && { [sizeHeader]: String(sizeBytes) }),
      },
      { endStream: false },
    );
    const abort = (): void => {
      body.destroy(signal?.reason as Error);
      setTimeout(() => stream.destroy(), ABORT_ANSWER_MS).unref();
    };
    signal?.addEventListener('abort', abort, { once: true });
    // The other side may refuse the body before its end.
    answered.catch(() => {
      body.destroy(new Error('the body is not wanted'));
      stream.destroy();
    });
    let failure: BlobError | undefined;
    try {
      for await (const chunk of frame(body, sizeBytes, (error) => {
        failure = error;
      })) {
        if (stream.destroyed || stream.writableEnded) break;
        if (!stream.write(chunk)) await onceDrained(stream);
      }
      stream.end();
      const answer = await answered;
      if (failure) throw failure;
      return toCount(answer[sizeHeader]) ?? 0;
    } catch (error) {
      // The failure of the body is the cause of the refusal.
      throw isBlobError(error, 'incomplete') && failure ? failure : error;
    } finally {
      signal?.removeEventListener('abort', abort);
      stream.destroy();
    }
  };

  return {
    put: async (key, body, { sizeBytes, signal } = {}) => {
      try {
        return await attempt(`storing ${key}`, signal, async () => ({
          sizeBytes: await send(parseKey(key), body, { sizeBytes, signal }),
        }));
      } finally {
        body.destroy();
      }
    },
    get: (key, { range, signal } = {}) =>
      attempt(`reading ${key}`, signal, async () => {
        const path = toPath(parseKey(key));
        const { offset, length } = parseRange(range ?? { offset: 0 });
        const wanted = length === undefined ? String(offset) : `${offset}-${length}`;
        const { stream, answer } = await request(
          { ':method': 'GET', ':path': path, ...(range && { [rangeHeader]: wanted }) },
          signal,
        );
        const sizeBytes = toCount(answer[sizeHeader]) ?? 0;
        const toError = (error: unknown) => toBlobError(error, { step: `reading ${key}`, toCode, signal });
        return { sizeBytes, body: toBody(stream, { sizeBytes, toError, signal }) };
      }),
    head: (key, { signal } = {}) =>
      attempt(`looking for ${key}`, signal, async () => {
        const { stream, answer } = await request(
          { ':method': 'HEAD', ':path': toPath(parseKey(key)) },
          signal,
        );
        stream.destroy();
        if (Number(answer[':status']) === 404) return undefined;
        const modifiedAt = new Date(toCount(answer[timeHeader]) ?? 0);
        return { key, sizeBytes: toCount(answer[sizeHeader]) ?? 0, modifiedAt };
      }),
    delete: (key, { signal } = {}) =>
      attempt(`removing ${key}`, signal, async () => {
        const { stream } = await request({ ':method': 'DELETE', ':path': toPath(parseKey(key)) }, signal);
        stream.destroy();
      }),
    list: async function* (prefix, { signal } = {}) {
      const step = `listing ${prefix}`;
      const path = `/?prefix=${encodeURIComponent(await attempt(step, signal, async () => parsePrefix(prefix)))}`;
      const { stream } = await attempt(step, signal, () =>
        request({ ':method': 'GET', ':path': path }, signal),
      );
      try {
        for await (const line of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }))
          yield parseLine(line);
        if (stream.rstCode !== 0) throw new BlobError('unavailable', 'the list was cut');
      } catch (error) {
        throw toBlobError(error, { step, toCode, signal });
      } finally {
        stream.destroy();
      }
    },
    removeAbandoned: () =>
      Promise.reject(new BlobError('unsupported', 'what was abandoned is removed where the store is')),
    close: async () => {},
  };
};

/** The bytes of a body and the byte that says how it ended; `onFailure` is called before that with why it failed. */
async function* frame(
  body: Readable,
  sizeBytes: number | undefined,
  onFailure: (error: BlobError) => void,
): AsyncGenerator<Uint8Array> {
  let counted = 0;
  try {
    if (body.destroyed) throw new Error('the body was destroyed before it was read');
    for await (const chunk of body as AsyncIterable<Uint8Array | string>) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      counted += bytes.length;
      if (sizeBytes !== undefined && counted > sizeBytes) break;
      yield bytes;
    }
    if (sizeBytes !== undefined && counted !== sizeBytes)
      throw new BlobError('incomplete', `the body has ${counted} bytes or more, and not ${sizeBytes}`);
    yield Buffer.of(bodyEnds.complete);
  } catch (error) {
    onFailure(isBlobError(error) ? error : new BlobError('incomplete', 'the body failed', { cause: error }));
    yield Buffer.of(bodyEnds.failed);
  }
}

/** The headers of an answer. Rejects with the failure that it reports, and with `unavailable` when there is none. */
const readAnswer = async (stream: ClientHttp2Stream): Promise<IncomingHttpHeaders> => {
  const answer = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
    stream.once('response', resolve);
    stream.once('error', (error) => reject(error));
    stream.once('close', () => reject(new BlobError('unavailable', 'the connection to the store ended')));
  });
  const code = answer[codeHeader];
  if (code === undefined) return answer;
  throw toReportedError(code, await text(stream));
};

/** Resolves when more can be written, or never will be. */
const onceDrained = (stream: ClientHttp2Stream): Promise<void> =>
  new Promise((resolve) => {
    const settle = (): void => {
      stream.off('drain', settle).off('close', settle);
      resolve();
    };
    stream.once('drain', settle).once('close', settle);
  });

const toPath = (key: string): string => `/${key}`;

const toCode = (error: unknown): BlobErrorCode | undefined => {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? '';
  return code.startsWith('ERR_HTTP2_') || ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code)
    ? 'unavailable'
    : undefined;
};
