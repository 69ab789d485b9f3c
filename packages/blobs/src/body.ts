import { finished, type Readable, Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BlobError } from './blob-error.ts';

/**
 * Writes the body of a put to `sink`, and ends both. Resolves with its size. Rejects with `incomplete` when the body
 * fails, or has another size than stated, and otherwise as `pipeline`; both are destroyed then.
 */
export const feed = async (
  body: Readable,
  sink: Writable,
  { sizeBytes, signal }: { sizeBytes: number | undefined; signal: AbortSignal | undefined },
): Promise<number> => {
  let counted = 0;
  const count = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      counted += chunk.length;
      if (sizeBytes !== undefined && counted > sizeBytes) break;
      yield chunk;
    }
    if (sizeBytes !== undefined && counted !== sizeBytes)
      throw new BlobError('incomplete', `the body has ${counted} bytes or more, and not ${sizeBytes}`);
  };
  let isBodyLost = body.destroyed;
  // All streams of a pipeline fail with the first of them.
  const noteLoss = (): void => {
    if (!body.readableEnded && !sink.destroyed && !signal?.aborted) isBodyLost = true;
  };
  body.once('error', noteLoss).once('close', noteLoss);
  try {
    await pipeline(body, count, sink, signal ? { signal } : {});
    return counted;
  } catch (error) {
    throw isBodyLost ? new BlobError('incomplete', 'the body failed', { cause: error }) : error;
  }
};

/**
 * The body of a get: what `source` yields, which is destroyed with it. Fails with `toError` of what `source` fails
 * with, or of the reason of the signal, and with `unavailable` when it does not have `sizeBytes`.
 */
export const toBody = (
  source: Readable,
  options: { sizeBytes: number; toError: (error: unknown) => BlobError; signal: AbortSignal | undefined },
): Readable => {
  const { sizeBytes, toError, signal } = options;
  let counted = 0;
  const body = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      counted += chunk.length;
      done(null, chunk);
    },
    flush: (done) =>
      done(
        counted === sizeBytes
          ? null
          : new BlobError('unavailable', `the blob ended after ${counted} of ${sizeBytes} bytes`),
      ),
  });
  const fail = (error: unknown): void => void body.destroy(toError(error));
  const abort = (): void => fail(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  finished(source, { writable: false }, (error) => {
    if (error) fail(error);
  });
  body.once('close', () => {
    signal?.removeEventListener('abort', abort);
    source.destroy();
  });
  return source.pipe(body);
};
