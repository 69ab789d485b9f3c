import { createHash } from 'node:crypto';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { RemoteFile } from '../definition.ts';
import { refuse } from '../dockerfile/refused.ts';

/** The file of a URL, alone in a folder of its own, which is removed on disposal. */
export interface FetchedFile extends Disposable {
  folder: string;
}

/**
 * Fetches the file of a URL, without a limit of its size. Rejects with `DockerfileError` when the server does not answer with 200 and when its content does
 * not have the digest, and with the reason of `signal`.
 */
export async function fetchFile(
  { url, checksum }: RemoteFile,
  { name, line = 1, signal }: { name: string; line: number | undefined; signal: AbortSignal },
): Promise<FetchedFile> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-fetch-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const response = await fetch(url, { signal });
    if (!response.ok || response.body === null)
      return refuse(line, `cannot fetch "${url}": the server answered ${response.status}`);
    const hash = createHash('sha256');
    await pipeline(
      Readable.fromWeb(response.body as ReadableStream<Uint8Array>),
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(join(folder, name), { mode: 0o600 }),
      { signal },
    );
    const digest = `sha256:${hash.digest('hex')}`;
    if (checksum !== undefined && digest !== checksum)
      refuse(line, `the content of "${url}" has the digest ${digest}, not ${checksum}`);
    return { folder, [Symbol.dispose]: remove };
  } catch (error) {
    remove();
    signal.throwIfAborted();
    if (error instanceof TypeError)
      return refuse(
        line,
        `cannot fetch "${url}": ${String((error.cause as Error | undefined)?.message ?? error.message)}`,
      );
    throw error;
  }
}
