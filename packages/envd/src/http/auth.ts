import type { IncomingMessage } from 'node:http';

/** Compares what a stranger says with a secret, in a time that depends on the length of the former alone. */
export const isSameSecret = (given: string, secret: string): boolean => {
  // Not by `node:crypto`, whose load takes longer than all else that a first call does before its process starts.
  let difference = given.length ^ secret.length;
  for (let index = 0; index < given.length; index += 1)
    difference |= given.charCodeAt(index) ^ secret.charCodeAt(index % secret.length);
  return difference === 0;
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
