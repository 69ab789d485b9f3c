import { toSandboxError } from '../errors.ts';
import type { Agent, AgentCallOptions } from '../transport/agent.ts';
import { startCall } from '../transport/call.ts';
import { fromResponse } from '../transport/from-response.ts';

export type FileData = string | ArrayBuffer | Uint8Array | Blob | ReadableStream<Uint8Array>;

export interface ReadOptions extends AgentCallOptions {
  /**
   * The most bytes that are read. Code in the sandbox decides how large a file is, also while it is sent: a larger one rejects with
   * `too_large`, or ends the stream with it, after that many bytes at most. Default: no limit.
   */
  maxBytes?: number | undefined;
}

export interface WriteOptions extends AgentCallOptions {
  /**
   * Attached to the file and returned by `getInfo`, keys in lower case. Each write replaces the whole set; a write
   * without metadata clears it. Printable ASCII, 4096 bytes in total.
   */
  metadata?: Record<string, string> | undefined;
}

/** A file that was written. */
export interface WriteInfo {
  path: string;
  name: string;
  metadata?: Record<string, string>;
}

// The time of an upload depends on its size, which only the caller knows.
const uploadTimeoutMs = 3_600_000;

/**
 * Downloads one file. `consume` reads the body; without it the body is returned as a stream, which fails like
 * `fetch` when the caller's signal aborts or the connection breaks. The request timeout limits only the wait for the
 * response headers, so it never interrupts a slow reader.
 *
 * @internal
 */
export function readFile(
  agent: Agent,
  path: string,
  options: ReadOptions,
): Promise<ReadableStream<Uint8Array>>;
/** @internal */
export function readFile<T>(
  agent: Agent,
  path: string,
  options: ReadOptions,
  consume: (response: Response) => Promise<T>,
): Promise<T>;
export async function readFile<T>(
  agent: Agent,
  path: string,
  { maxBytes, ...options }: ReadOptions,
  consume?: (response: Response) => Promise<T>,
): Promise<T | ReadableStream<Uint8Array>> {
  if (maxBytes !== undefined && !(Number.isInteger(maxBytes) && maxBytes >= 0))
    throw toSandboxError('invalid_argument', `maxBytes must be an integer from 0, got ${maxBytes}`);
  const call = startCall(options, agent.requestTimeoutMs);
  let isOpen = false;
  try {
    const { response: answer, error } = await agent.client.files.GET('/files', {
      params: { query: toQuery(path, options) },
      // `fetch` asks for gzip by default, which is slower than most networks.
      headers: { 'Accept-Encoding': 'identity' },
      parseAs: 'stream',
      signal: call.signal,
    });
    if (!answer.ok) throw fromResponse({ status: answer.status, headers: answer.headers, body: error });
    call.stopClock();
    const response = maxBytes === undefined ? answer : await limitBody(answer, maxBytes);
    if (consume) return await consume(response);
    // Still bound to the caller's signal: no event reports that a stream was read to its end, and a pass-through
    // halves its speed.
    isOpen = true;
    return response.body ?? new Blob([]).stream();
  } catch (error) {
    throw call.explain(error);
  } finally {
    if (!isOpen) call.end();
  }
}

/** Returns the response with a body that fails with `too_large` after that many bytes. Rejects with it where the length is known. */
async function limitBody(response: Response, maxBytes: number): Promise<Response> {
  const tooLarge = toSandboxError('too_large', `the file has more than maxBytes, which is ${maxBytes}`);
  if (Number(response.headers.get('content-length')) > maxBytes) {
    await response.body?.cancel();
    throw tooLarge;
  }
  let receivedBytes = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      receivedBytes += chunk.length;
      if (receivedBytes > maxBytes) controller.error(tooLarge);
      else controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(limit) ?? null, response);
}

/**
 * Uploads one file unchanged. A stream is sent as it arrives, which browsers refuse over HTTP/1.1.
 *
 * @internal
 */
export async function writeFile(
  agent: Agent,
  path: string,
  data: FileData,
  options: WriteOptions,
): Promise<WriteInfo> {
  const call = startCall(options, uploadTimeoutMs);
  const metadata = Object.entries(options.metadata ?? {}).map(([key, value]) => [`X-Metadata-${key}`, value]);
  try {
    const {
      data: written,
      error,
      response,
    } = await agent.client.files.POST('/files', {
      params: { query: toQuery(path, options) },
      // The document types a body as Blob; any body that `fetch` accepts is sent the same way.
      body: data as Blob,
      bodySerializer: (body: unknown) => body as BodyInit,
      headers: { 'Content-Type': 'application/octet-stream', ...Object.fromEntries(metadata) },
      signal: call.signal,
      // `fetch` requires it with a stream; the DOM's types lack it.
      ...({ duplex: 'half' } as object),
    });
    if (!response.ok) throw fromResponse({ status: response.status, headers: response.headers, body: error });
    const record = written?.[0];
    if (!record)
      throw fromResponse({
        status: 500,
        headers: response.headers,
        body: 'the response of the agent has no file',
      });
    const { name, metadata: stored } = record;
    return { path: record.path, name, ...(stored ? { metadata: stored } : {}) };
  } catch (error) {
    throw call.explain(error);
  } finally {
    call.end();
  }
}

/**
 * Joins files into one inside the sandbox.
 *
 * @internal
 */
export async function composeFile(
  agent: Agent,
  sources: readonly string[],
  destination: string,
  options: AgentCallOptions,
): Promise<WriteInfo> {
  const call = startCall(options, uploadTimeoutMs);
  const { user } = options;
  try {
    const { data, error, response } = await agent.client.files.POST('/files/compose', {
      body: { source_paths: [...sources], destination, ...(user ? { username: user } : {}) },
      signal: call.signal,
    });
    if (!data) throw fromResponse({ status: response.status, headers: response.headers, body: error });
    return { path: data.path, name: data.name };
  } catch (error) {
    throw call.explain(error);
  } finally {
    call.end();
  }
}

function toQuery(path: string, { user }: AgentCallOptions): { path: string; username?: string } {
  return { path, ...(user ? { username: user } : {}) };
}
