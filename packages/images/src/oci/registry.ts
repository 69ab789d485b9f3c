import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { ImageError } from '../image-error.ts';
import { ask, toRefusalCode } from './ask.ts';
import type { BlobReference } from './image-manifest.ts';
import { type Reach, reachAny } from './reach.ts';
import { readBody, readLimited } from './read-body.ts';
import { digestPattern, type ImageReference } from './reference.ts';
import { fetchToken, parseChallenge, type RegistryCredentials } from './registry-auth.ts';

export interface Registry {
  /** Fetches a manifest by tag or digest, at most 4 MiB, with the digest of the received bytes. */
  manifest(version: string): Promise<{ document: unknown; digest: string }>;
  /** Fetches a small blob, at most 4 MiB, whose digest and size are verified. */
  smallBlob(blob: BlobReference): Promise<Buffer>;
  /**
   * Streams the bytes of a blob: unverified, still compressed. When a connection breaks, the rest is requested over the
   * next one.
   */
  blob(digest: string): Promise<Readable>;
}

export interface RegistryOptions {
  reference: ImageReference;
  credentials?: RegistryCredentials | undefined;
  signal?: AbortSignal | undefined;
  /** Sends every request. By default to any host. */
  reach?: Reach | undefined;
  /** How long the head of a response may take. Default 15 s. */
  answerTimeoutMs?: number;
  /** How long the next bytes of a response may take. Default 60 s. */
  idleMs?: number;
}

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];
const MANIFEST_BYTES = 4 << 20;
const maxRedirects = 5;
const MAX_FAILURES = 3;
const RETRY_MS = 200;
/** What a connection must bring to count as progress. */
const PROGRESS_BYTES = 1 << 20;

/**
 * A client for the pull part of the OCI distribution specification, for one repository. Requests a bearer token when
 * the registry requires one, anonymously without credentials. Follows redirects itself, so that none leads to plain
 * http on another host or carries credentials there. Every call rejects with `registry_unavailable` when there is no
 * answer or it is 429 or 5xx, `registry_refused` for any other refusal, `corrupt` for a malformed answer, or the reason
 * of the signal.
 */
export function createRegistry(options: RegistryOptions): Registry {
  const { reference, credentials, signal, reach = reachAny, answerTimeoutMs, idleMs } = options;
  const origin = new URL(reference.baseUrl).origin;
  let authorization: string | undefined;

  /** Sends one request and follows its redirects; resolves with any status. */
  const send = async (start: URL, headers: Record<string, string>): Promise<Response> => {
    let url = start;
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      const response = await ask(url, {
        reach,
        headers: url.origin === start.origin ? headers : withoutAuthorization(headers),
        signal,
        answerTimeoutMs,
      });
      const location = response.headers.get('location');
      if (response.status < 300 || response.status >= 400 || location === null) return response;
      await response.body?.cancel();
      if (!URL.canParse(location, url)) throw new ImageError('corrupt', `${url.host} redirects to nowhere`);
      url = new URL(location, url);
    }
    throw new ImageError('registry_refused', `${origin} redirects too often`);
  };

  const get = async (path: string, accept: string, more: Record<string, string> = {}): Promise<Response> => {
    const url = new URL(`/v2/${reference.repository}/${path}`, reference.baseUrl);
    // Identity: a body that fetch has decompressed by itself would not match the requested digest.
    const headers = (): Record<string, string> => ({
      accept,
      'accept-encoding': 'identity',
      ...more,
      ...(authorization === undefined ? {} : { authorization }),
    });
    let response = await send(url, headers());
    if (response.status === 401) {
      await response.body?.cancel();
      const challenge = parseChallenge(response.headers.get('www-authenticate') ?? '');
      authorization = await fetchToken({ challenge, reference, credentials, send, signal });
      response = await send(url, headers());
    }
    if (response.ok) return response;
    await response.body?.cancel();
    throw refusal(response.status, `${origin}: ${reference.repository}/${path}`, credentials !== undefined);
  };

  return {
    async manifest(version) {
      const response = await get(`manifests/${version}`, manifestTypes.join(', '));
      const bytes = await readLimited(response.body, { origin, signal, idleMs, limitBytes: MANIFEST_BYTES });
      const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      if (digestPattern.test(version) && version !== digest)
        throw new ImageError('corrupt', `the manifest ${version} has the digest ${digest}`);
      return { document: parseJson(bytes), digest };
    },
    async smallBlob({ digest, sizeBytes }) {
      const { body } = await get(`blobs/${digest}`, '*/*');
      const bytes = await readLimited(body, { origin, signal, idleMs, limitBytes: MANIFEST_BYTES });
      const actual = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      if (bytes.length === sizeBytes && actual === digest) return bytes;
      throw new ImageError(
        'corrupt',
        `the blob ${digest} has ${bytes.length} bytes and the digest ${actual}`,
      );
    },
    async blob(digest) {
      const path = `blobs/${digest}`;
      const askFrom = async (offset: number): Promise<AsyncIterable<Uint8Array>> => {
        const { status, body } = await get(path, '*/*', offset > 0 ? { range: `bytes=${offset}-` } : {});
        if (offset === 0 || status === 206) return readBody(body, { origin, signal, idleMs });
        await body?.cancel();
        throw new ImageError('registry_unavailable', `${origin} cannot continue a download that broke off`);
      };
      const first = await askFrom(0);
      return Readable.from(readWithBreaks(first, { ask: askFrom, signal }), { objectMode: false });
    },
  };
}

function withoutAuthorization(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'authorization'));
}

function refusal(status: number, what: string, hasCredentials: boolean): ImageError {
  const because = hasCredentials && status === 401 ? ': the registry does not accept the credentials' : '';
  return new ImageError(toRefusalCode(status), `${what} was answered with ${status}${because}`);
}

/**
 * The chunks of a body whose connection may break: `ask` then gets the rest. Gives up when three attempts in a row bring
 * less than 1 MiB.
 */
async function* readWithBreaks(
  first: AsyncIterable<Uint8Array>,
  options: {
    ask: (offset: number) => Promise<AsyncIterable<Uint8Array>>;
    signal: AbortSignal | undefined;
  },
): AsyncGenerator<Uint8Array> {
  let body: AsyncIterable<Uint8Array> | undefined = first;
  let received = 0;
  let counted = 0;
  for (let failures = 0; ; ) {
    try {
      body ??= await options.ask(received);
      for await (const chunk of body) {
        received += chunk.byteLength;
        if (received - counted >= PROGRESS_BYTES) {
          failures = 0;
          counted = received;
        }
        yield chunk;
      }
      return;
    } catch (error) {
      const isBreak = error instanceof ImageError && error.code === 'registry_unavailable';
      if (!isBreak || failures === MAX_FAILURES) throw error;
      failures += 1;
      body = undefined;
      await sleep(RETRY_MS * failures, undefined, options.signal ? { signal: options.signal } : {}).catch(
        () => options.signal?.throwIfAborted(),
      );
    }
  }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new ImageError('corrupt', 'the manifest is no JSON', { cause });
  }
}
