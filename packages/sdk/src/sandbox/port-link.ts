import { toSandboxError } from '../errors.ts';

/**
 * The longest time that a link may open a port, in seconds.
 *
 * @internal
 */
export const maxLinkSeconds = 86_400;

const defaultLinkSeconds = 3600;

const toBytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/**
 * Signs the host of a private port and a time with the traffic token: who has the result needs no token until then.
 * Rejects with `invalid_argument`.
 *
 * @internal
 */
export async function signPortLink({
  sandboxId,
  port,
  trafficToken,
  expiresInMs = defaultLinkSeconds * 1000,
}: {
  sandboxId: string;
  port: number;
  trafficToken: string;
  expiresInMs?: number | undefined;
}): Promise<string> {
  if (!(expiresInMs > 0 && expiresInMs <= maxLinkSeconds * 1000))
    throw toSandboxError(
      'invalid_argument',
      `expiresInMs must be more than 0 and at most ${maxLinkSeconds * 1000}, got ${expiresInMs}`,
    );
  const expiry = Math.ceil((Date.now() + expiresInMs) / 1000);
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', toBytes(trafficToken), algorithm, false, ['sign']);
  const signed = await crypto.subtle.sign('HMAC', key, toBytes(`port-link:${port}-${sandboxId}:${expiry}`));
  const hex = [...new Uint8Array(signed)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `v1.${expiry}.${hex}`;
}
