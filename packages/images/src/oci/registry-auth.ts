import { ImageError } from '../image-error.ts';
import { readLimited } from './read-body.ts';
import type { ImageReference } from './reference.ts';
import { toRefusal } from './retries.ts';

export interface RegistryCredentials {
  username: string;
  password: string;
}

export interface Challenge {
  scheme: 'bearer' | 'basic';
  parameters: Readonly<Record<string, string>>;
}

/** Parses a WWW-Authenticate header (RFC 9110, 11.6.1); throws `registry_refused` for an unsupported scheme. */
export function parseChallenge(header: string): Challenge {
  const scheme = /^\s*(bearer|basic)\b/i.exec(header)?.[1]?.toLowerCase();
  if (scheme !== 'bearer' && scheme !== 'basic')
    throw new ImageError('registry_refused', 'the registry requires an authentication that is not supported');
  const parameters: Record<string, string> = {};
  for (const [, key = '', quoted, plain] of header.matchAll(/([a-z_]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gi))
    parameters[key.toLowerCase()] = quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '';
  return { scheme, parameters };
}

/** The most bytes of an answer with a token. */
const TOKEN_BYTES = 64 << 10;

/**
 * Answers a challenge with the value of an Authorization header: the credentials themselves for `basic`, otherwise a
 * token that allows pulling from the repository. `send` refuses plain http to other hosts.
 */
export async function fetchToken(options: {
  challenge: Challenge;
  reference: ImageReference;
  credentials: RegistryCredentials | undefined;
  send: (url: URL, headers: Record<string, string>) => Promise<Response>;
  signal: AbortSignal | undefined;
}): Promise<string> {
  const { challenge, reference, credentials, send, signal } = options;
  const basic =
    credentials &&
    `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`;
  if (challenge.scheme === 'basic') {
    if (basic === undefined) throw new ImageError('registry_refused', 'the registry requires a user name');
    return basic;
  }
  const { realm = '', service, scope = `repository:${reference.repository}:pull` } = challenge.parameters;
  if (!URL.canParse(realm)) throw new ImageError('corrupt', 'the registry names no URL for tokens');
  const url = new URL(realm);
  if (service !== undefined) url.searchParams.set('service', service);
  url.searchParams.set('scope', scope);
  const response = await send(url, {
    accept: 'application/json',
    ...(basic === undefined ? {} : { authorization: basic }),
  });
  if (!response.ok) {
    await response.body?.cancel();
    const { status } = response;
    const because =
      basic !== undefined && status === 401 ? ', because it does not accept the credentials' : '';
    throw toRefusal(response, `${url.host} issues no token: ${status}${because}`);
  }
  const bytes = await readLimited(response.body, { origin: url.host, signal, limitBytes: TOKEN_BYTES });
  const token = findToken(bytes.toString('utf8'));
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw new ImageError('corrupt', `${url.host} issues no token`);
  return `Bearer ${token}`;
}

function findToken(text: string): unknown {
  try {
    const { token, access_token } = JSON.parse(text) as { token?: unknown; access_token?: unknown };
    return token ?? access_token;
  } catch {
    return undefined; // No JSON, or null: there is no token in it.
  }
}
