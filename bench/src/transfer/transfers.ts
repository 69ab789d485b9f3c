import { createReadStream } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { pipeline } from 'node:stream/promises';

export const SIZE_BYTES = 100 * 2 ** 20;
export const MIB = 2 ** 20;

export interface Endpoint {
  url: string;
  headers: Record<string, string>;
}

/** Runs a transfer of the file and resolves with its speed. */
export async function mibPerSecond(transfer: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await transfer();
  return SIZE_BYTES / MIB / ((performance.now() - started) / 1000);
}

/** Rejects unless the whole file arrives. */
export async function download({ url, headers }: Endpoint): Promise<void> {
  const response = await answerOf(request(url, { headers }).end());
  let sizeBytes = 0;
  for await (const chunk of response) sizeBytes += (chunk as Buffer).length;
  if (response.statusCode !== 200 || sizeBytes !== SIZE_BYTES)
    throw new Error(`${response.statusCode}, ${sizeBytes} bytes`);
}

/** Rejects unless the whole file is accepted. */
export async function upload({ url, headers }: Endpoint, source: string): Promise<void> {
  const outgoing = request(url, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/octet-stream', 'Content-Length': SIZE_BYTES },
  });
  const [response] = await Promise.all([
    answerOf(outgoing),
    pipeline(createReadStream(source, { highWaterMark: MIB }), outgoing),
  ]);
  response.resume();
  if (response.statusCode !== 200) throw new Error(`upload was answered with ${response.statusCode}`);
}

function answerOf(outgoing: ReturnType<typeof request>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once('response', resolve).once('error', reject);
  });
}
