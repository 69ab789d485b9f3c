import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ImageError } from '../image-error.ts';
import { digestPattern, type ImageReference, isAllowedUrl } from './reference.ts';
import { fetchToken, parseChallenge, type RegistryCredentials } from './registry-auth.ts';

export interface Registry {
  /** A manifest by tag or digest, at most 4 MiB, with the digest of what arrived. */
  manifest(version: string): Promise<{ document: unknown; digest: string }>;
  /** The bytes of a blob as they arrive: unverified, still compressed. */
  blob(digest: string): Promise<Readable>;
}

export interface RegistryOptions {
  reference: ImageReference;
  credentials?: RegistryCredentials | undefined;
  signal?: AbortSignal | undefined;
  /** How long the head of an answer may take. Default 15 s. */
  answerTimeoutMs?: number;
}

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];
const manifestLimit = 4 << 20;
const maxRedirects = 5;

/**
 * Speaks the pull side of the OCI distribution specification for one repository. Gets a bearer token when the registry asks
 * for one, anonymously without credentials. Follows redirects itself, so that none leads to plain http on another host or
 * carries credentials there. Every call rejects with `registry_unavailable` when nobody answers or the answer is 429 or 5xx,
 * `registry_refused` for any other refusal, `corrupt` for a malformed answer, or the reason of the signal.
 */
export function createRegistry(options: RegistryOptions): Registry {
  const { reference, credentials, signal, answerTimeoutMs = 15_000 } = options;
  const origin = new URL(reference.baseUrl).origin;
  let authorization: string | undefined;

  /** One request and its redirects; resolves with any status. */
  const send = async (start: URL, headers: Record<string, string>): Promise<Response> => {
    let url = start;
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      if (!isAllowedUrl(url)) throw new ImageError('registry_refused', `${url.origin} is not https`);
      const response = await ask(url, {
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

  const get = async (path: string, accept: string): Promise<Response> => {
    const url = new URL(`/v2/${reference.repository}/${path}`, reference.baseUrl);
    // Identity: a body that fetch decompressed by itself would not have the digest it was asked by.
    const headers = (): Record<string, string> => ({
      accept,
      'accept-encoding': 'identity',
      ...(authorization === undefined ? {} : { authorization }),
    });
    let response = await send(url, headers());
    if (response.status === 401) {
      await response.body?.cancel();
      const challenge = parseChallenge(response.headers.get('www-authenticate') ?? '');
      authorization = await fetchToken({ challenge, reference, credentials, send });
      response = await send(url, headers());
    }
    if (response.ok) return response;
    await response.body?.cancel();
    throw refusal(response.status, `${origin}: ${reference.repository}/${path}`);
  };

  return {
    async manifest(version) {
      const response = await get(`manifests/${version}`, manifestTypes.join(', '));
      const bytes = await readLimited(readBody(response.body, { origin, signal }));
      const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      if (digestPattern.test(version) && version !== digest)
        throw new ImageError('corrupt', `the manifest ${version} has the digest ${digest}`);
      return { document: parseJson(bytes), digest };
    },
    async blob(digest) {
      const { body } = await get(`blobs/${digest}`, '*/*');
      return Readable.from(readBody(body, { origin, signal }), { objectMode: false });
    },
  };
}

async function ask(
  url: URL,
  options: { headers: Record<string, string>; signal: AbortSignal | undefined; answerTimeoutMs: number },
): Promise<Response> {
  const { headers, signal, answerTimeoutMs } = options;
  // Aborts while the head is awaited; afterwards only the caller's signal ends the body.
  const slow = new AbortController();
  const timer = setTimeout(() => slow.abort(), answerTimeoutMs);
  try {
    return await fetch(url, {
      headers,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, slow.signal]) : slow.signal,
    });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ImageError('registry_unavailable', `${url.host} does not answer`, { cause });
  } finally {
    clearTimeout(timer);
  }
}

function withoutAuthorization(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'authorization'));
}

function refusal(status: number, what: string): ImageError {
  const isTemporary = status === 429 || status >= 500;
  const code = isTemporary ? 'registry_unavailable' : 'registry_refused';
  return new ImageError(code, `${what} was answered with ${status}`);
}

/** The chunks of a body; a connection that breaks in between is the registry's fault, not that of the bytes so far. */
async function* readBody(
  body: Response['body'],
  { origin, signal }: { origin: string; signal: AbortSignal | undefined },
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  try {
    yield* body;
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ImageError('registry_unavailable', `${origin} broke off`, { cause });
  }
}

async function readLimited(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > manifestLimit) throw new ImageError('too_large', 'the manifest is larger than 4 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new ImageError('corrupt', 'the manifest is no JSON', { cause });
  }
}
