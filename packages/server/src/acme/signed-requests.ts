import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { AcmeError } from './acme-error.ts';

/** The kinds of problems (RFC 8555, 6.7) that change what is done next. */
const BAD_NONCE = 'urn:ietf:params:acme:error:badNonce';
const REQUEST_MS = 30_000;
/** A server may refuse a nonce that is too old for it, and sends a new one with the refusal. */
const NONCE_ATTEMPTS = 5;

export interface AcmeAnswer {
  /** The header `Location`: the address of what was made. */
  location: string | undefined;
  retryAfterMs: number | undefined;
  text: string;
  /** Parses the text as JSON; the authority has authenticated itself by TLS, so its form is trusted. */
  json<T>(): T;
}

/** Calls an authority (RFC 8555) in the name of one account. */
export interface SignedRequests {
  /** The addresses of its operations. */
  readonly directory: Directory;
  /** What proves that a token was taken over by the holder of the account's key. */
  toKeyAuthorization(token: string): string;
  /** Registers the key, or finds its account. To be called before `post`. */
  register(contact: readonly string[]): Promise<void>;
  /** Without a payload, reads. Rejects with `AcmeError`, which begins with `action`. */
  post(action: string, url: string, payload?: object): Promise<AcmeAnswer>;
}

interface Directory {
  newNonce: string;
  newAccount: string;
  newOrder: string;
  meta?: { externalAccountRequired?: boolean };
}

const toBase64Url = (data: string | Buffer): string => Buffer.from(data).toString('base64url');

/** Reads the directory of an authority. The key is an EC key of the curve P-256. Rejects with `AcmeError` when it cannot be reached. */
export async function openSignedRequests({
  directoryUrl,
  accountKey,
  signal,
}: {
  directoryUrl: string;
  accountKey: KeyObject;
  signal: AbortSignal;
}): Promise<SignedRequests> {
  const { crv, kty, x, y } = createPublicKey(accountKey).export({ format: 'jwk' });
  // The order of the members is part of the thumbprint (RFC 7638).
  const jwk = { crv, kty, x, y };
  const thumbprint = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url');
  let nonce: string | undefined;
  let account: string | undefined;

  const request = async (action: string, url: string, init: RequestInit): Promise<Response> => {
    if (new URL(url).protocol !== 'https:')
      throw new AcmeError(`${action}: ${url} is not an address of https`);
    try {
      const limits = {
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
      };
      const response = await fetch(url, { ...init, ...limits } as RequestInit);
      nonce = response.headers.get('replay-nonce') ?? nonce;
      return response;
    } catch (cause) {
      const { message } =
        (cause as Error).cause instanceof Error ? ((cause as Error).cause as Error) : (cause as Error);
      throw new AcmeError(`${action}: ${new URL(url).host} cannot be reached: ${message}`, { cause });
    }
  };
  const takeNonce = async (action: string): Promise<string> => {
    if (nonce === undefined)
      await (await request(action, directory.newNonce, { method: 'HEAD' })).arrayBuffer();
    const taken = nonce;
    nonce = undefined;
    if (taken === undefined) throw new AcmeError(`${action}: the authority sends no nonce`);
    return taken;
  };
  const signed = async (action: string, url: string, payload: object | undefined): Promise<string> => {
    const identity = account === undefined ? { jwk } : { kid: account };
    const head = toBase64Url(
      JSON.stringify({ alg: 'ES256', ...identity, nonce: await takeNonce(action), url }),
    );
    const body = payload === undefined ? '' : toBase64Url(JSON.stringify(payload));
    const signature = sign('sha256', Buffer.from(`${head}.${body}`), {
      key: accountKey,
      dsaEncoding: 'ieee-p1363',
    });
    return JSON.stringify({ protected: head, payload: body, signature: signature.toString('base64url') });
  };
  const post: SignedRequests['post'] = async (action, url, payload) => {
    for (let attempt = 1; ; attempt += 1) {
      const headers = { 'content-type': 'application/jose+json' };
      const response = await request(action, url, {
        method: 'POST',
        headers,
        body: await signed(action, url, payload),
      });
      const retryAfterMs = toMilliseconds(response.headers.get('retry-after'));
      const text = await response.text();
      if (response.ok) {
        const location = response.headers.get('location') ?? undefined;
        return { location, retryAfterMs, text, json: () => JSON.parse(text) };
      }
      const problem = readProblem(text);
      if (problem.type === BAD_NONCE && attempt < NONCE_ATTEMPTS) continue;
      throw new AcmeError(
        `${action}: ${toSentence(problem) || `${new URL(url).host} answers ${response.status}`}`,
        {
          ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        },
      );
    }
  };

  const answer = await request('reading the directory of the authority', directoryUrl, {});
  const directory = (await answer.json().catch(() => ({}))) as Directory;
  if (!answer.ok || !directory.newNonce || !directory.newAccount || !directory.newOrder)
    throw new AcmeError(`${directoryUrl} is not the directory of an ACME authority`);
  return {
    directory,
    toKeyAuthorization: (token) => `${token}.${thumbprint}`,
    async register(contact) {
      const registered = await post('registering the account', directory.newAccount, {
        termsOfServiceAgreed: true,
        ...(contact.length > 0 && { contact }),
      });
      account = registered.location;
    },
    post,
  };
}

/** An error as an authority describes it (RFC 7807), with those of each name. */
export interface Problem {
  type?: string;
  detail?: string;
  subproblems?: Problem[];
}

/** What a problem says, for a person. */
export const toSentence = ({ type, detail, subproblems = [] }: Problem): string =>
  [detail ?? type, ...subproblems.map(toSentence)].filter(Boolean).join('; ');

function readProblem(text: string): Problem {
  try {
    return JSON.parse(text) as Problem;
  } catch {
    // A proxy answers with a page: the status says as much.
    return {};
  }
}

/** Seconds, or a date (RFC 9110, 10.2.3). */
function toMilliseconds(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
