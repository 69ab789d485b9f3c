import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ImageError } from '../image-error.ts';
import { ask } from './ask.ts';
import type { BlobReference } from './image-manifest.ts';
import { type Reach, reachAny } from './reach.ts';
import { readBody, readLimited } from './read-body.ts';
import { digestPattern, type ImageReference } from './reference.ts';
import { fetchToken, parseChallenge, type RegistryCredentials } from './registry-auth.ts';
import { type BlobPart, readWithBreaks } from './resumed-body.ts';
import { createRetries, toRefusal } from './retries.ts';

export interface Registry {
  /** Fetches a manifest by tag or digest, at most 4 MiB, with the digest of the received bytes. */
  manifest(version: string): Promise<{ document: unknown; digest: string }>;
  /** Fetches a small blob, at most 4 MiB, whose digest and size are verified. */
  smallBlob(blob: BlobReference): Promise<Buffer>;
  /**
   * Streams the bytes of a blob: unverified, still compressed. When a connection breaks, the rest is requested over the
   * next one; a registry that sends all of it again is read from there on. The stream holds at most 8 MiB for its reader.
   */
  blob(blob: BlobReference): Promise<Readable>;
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
  /** The wait after the first temporary failure in a row. Default 500 ms. */
  retryMs?: number | undefined;
}

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];
const MANIFEST_BYTES = 4 << 20;
const maxRedirects = 5;
const BUFFER_BYTES = 8 << 20;

/**
 * A client for the pull part of the OCI distribution specification, for one repository. Requests a bearer token when
 * the registry requires one, anonymously without credentials. Follows redirects itself, so that none leads to plain
 * http on another host or carries credentials there. A request without an answer, or with 429 or 5xx, is repeated a few
 * times, not before the time that the registry names. Every call rejects with `registry_unavailable` when that did not
 * help, `registry_refused` for any other refusal, `corrupt` for a malformed answer, or the reason of the signal.
 */
export function createRegistry(options: RegistryOptions): Registry {
  const { reference, credentials, signal, reach = reachAny, answerTimeoutMs, idleMs } = options;
  const origin = new URL(reference.baseUrl).origin;
  const retries = createRetries({ signal, firstWaitMs: options.retryMs });
  let authorization: string | undefined;

  /** Sends one request and follows its redirects; resolves with any status, but rejects for a 401 of another server. */
  const send = async (start: URL, headers: Record<string, string>): Promise<Response> => {
    let url = start;
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      const response = await ask(url, {
        reach,
        headers: url.origin === start.origin ? headers : withoutAuthorization(headers),
        signal,
        answerTimeoutMs,
      });
      // Another server's challenge would name a server of its own, which must not get the credentials for this one.
      if (response.status === 401 && url.origin !== start.origin) {
        await response.body?.cancel();
        throw new ImageError(
          'registry_refused',
          `${origin} redirects to ${url.origin}, which answers with 401`,
        );
      }
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
    const { status } = response;
    const because =
      credentials !== undefined && status === 401 ? ': the registry does not accept the credentials' : '';
    throw toRefusal(
      response,
      `${origin}: ${reference.repository}/${path} was answered with ${status}${because}`,
    );
  };

  const getSmall = (path: string, accept: string): Promise<Buffer> =>
    retries.repeat(async () => {
      const { body } = await get(path, accept);
      return readLimited(body, { origin, signal, idleMs, limitBytes: MANIFEST_BYTES });
    });

  return {
    async manifest(version) {
      const bytes = await getSmall(`manifests/${version}`, manifestTypes.join(', '));
      const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      if (digestPattern.test(version) && version !== digest)
        throw new ImageError('corrupt', `the manifest ${version} has the digest ${digest}`);
      return { document: parseJson(bytes), digest };
    },
    async smallBlob({ digest, sizeBytes }) {
      const bytes = await getSmall(`blobs/${digest}`, '*/*');
      const actual = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      if (bytes.length === sizeBytes && actual === digest) return bytes;
      throw new ImageError(
        'corrupt',
        `the blob ${digest} has ${bytes.length} bytes and the digest ${actual}`,
      );
    },
    async blob({ digest, sizeBytes }) {
      const path = `blobs/${digest}`;
      const askFrom = async (offset: number): Promise<BlobPart> => {
        const { status, body } = await get(path, '*/*', offset > 0 ? { range: `bytes=${offset}-` } : {});
        return { offset: status === 206 ? offset : 0, body: readBody(body, { origin, signal, idleMs }) };
      };
      const first = await retries.repeat(() => askFrom(0));
      const chunks = readWithBreaks(first, { sizeBytes, retries, ask: askFrom });
      return Readable.from(chunks, { objectMode: false, highWaterMark: BUFFER_BYTES });
    },
  };
}

function withoutAuthorization(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'authorization'));
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new ImageError('corrupt', 'the manifest is no JSON', { cause });
  }
}
