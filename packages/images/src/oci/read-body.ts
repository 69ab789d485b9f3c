import { ImageError } from '../image-error.ts';

const IDLE_MS = 60_000;

export interface BodyOptions {
  /** Who sends the body, for messages. */
  origin: string;
  signal: AbortSignal | undefined;
  /** How long the next bytes may take. Default 60 s. */
  idleMs?: number | undefined;
}

/** The chunks of a body; when the connection breaks or stalls, the registry is at fault, not the bytes so far. */
export async function* readBody(
  body: Response['body'],
  { origin, signal, idleMs = IDLE_MS }: BodyOptions,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  // A body that has failed has nothing left to cancel; the read reports its failure.
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  let isStalled = false;
  const stall = (): void => {
    isStalled = true;
    cancel();
  };
  const next = async (): Promise<Uint8Array | undefined> => {
    const timer = setTimeout(stall, idleMs);
    try {
      return (await reader.read()).value;
    } catch (cause) {
      signal?.throwIfAborted();
      throw new ImageError('registry_unavailable', `${origin} broke off`, { cause });
    } finally {
      clearTimeout(timer);
    }
  };
  try {
    for (;;) {
      const chunk = await next();
      signal?.throwIfAborted();
      if (isStalled) throw new ImageError('registry_unavailable', `${origin} sent nothing for ${idleMs} ms`);
      if (chunk === undefined) return;
      yield chunk;
    }
  } finally {
    cancel();
  }
}

/** All bytes of a small body. Rejects with `too_large`, and with `registry_unavailable` when they take longer than a minute. */
export async function readLimited(
  body: Response['body'],
  { limitBytes, ...options }: BodyOptions & { limitBytes: number },
): Promise<Buffer> {
  const deadline = performance.now() + IDLE_MS;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of readBody(body, options)) {
    length += chunk.byteLength;
    if (length > limitBytes)
      throw new ImageError(
        'too_large',
        `${options.origin} sent a document of more than ${limitBytes / 1024} KiB`,
      );
    if (performance.now() > deadline)
      throw new ImageError('registry_unavailable', `${options.origin} sends a document too slowly`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
