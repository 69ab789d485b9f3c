import type { Retries } from './retries.ts';

/** What a connection must bring to count as progress. */
const PROGRESS_BYTES = 1 << 20;

/** The bytes of one answer, and at which byte of the blob they begin. */
export interface BlobPart {
  offset: number;
  body: AsyncIterable<Uint8Array>;
}

/**
 * The chunks of a blob whose connections may break: `ask` gets the rest over the next one. An answer that begins before
 * the rest is read without the bytes that are there already. Gives up when attempts in a row bring less than 1 MiB, and
 * rejects as `Retries` does.
 */
export async function* readWithBreaks(
  first: BlobPart,
  options: { sizeBytes: number; retries: Retries; ask: (offset: number) => Promise<BlobPart> },
): AsyncGenerator<Uint8Array> {
  const { sizeBytes, retries, ask } = options;
  let part: BlobPart | undefined = first;
  let received = 0;
  let counted = 0;
  for (let failures = 0; ; ) {
    try {
      part ??= await ask(received);
      let { offset } = part;
      for await (const chunk of part.body) {
        const fresh = chunk.subarray(Math.max(0, received - offset));
        offset += chunk.byteLength;
        if (fresh.byteLength === 0) continue;
        received += fresh.byteLength;
        if (received - counted >= PROGRESS_BYTES) {
          failures = 0;
          counted = received;
        }
        yield fresh;
      }
      return;
    } catch (error) {
      // A connection may break behind the last byte, and no registry has a rest of nothing.
      if (received === sizeBytes) return;
      failures += 1;
      await retries.waitAfter(error, failures);
      part = undefined;
    }
  }
}
