import type { IncomingMessage } from 'node:http';

/** Compares two secrets in a time that tells nothing about them, their lengths included. */
export const isSameSecret = (left: string, right: string): boolean => {
  // Loaded with the first secret: it would delay the moment from which the agent listens.
  const { hash, timingSafeEqual } = process.getBuiltinModule('node:crypto');
  return timingSafeEqual(hash('sha256', left, 'buffer'), hash('sha256', right, 'buffer'));
};

/** The value of `X-Access-Token`, if the request has one. */
export const accessTokenOf = ({ headers }: IncomingMessage): string | undefined => {
  const value = headers['x-access-token'];
  return Array.isArray(value) ? value[0] : value;
};

/**
 * The user name of `Authorization: Basic`, whose password means nothing here: it says who runs, not who asks. Undefined
 * when the header is absent, of another scheme, or names nobody.
 */
export const basicUserOf = (authorization: string | undefined): string | undefined => {
  const encoded = /^basic +([a-z0-9+/=_-]+) *$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const [name] = Buffer.from(encoded, 'base64').toString('utf8').split(':', 1);
  return name === '' ? undefined : name;
};
