const MAX_LENGTH = 1024;

/** Keys, tokens, signatures and JWTs of skerry are at least so long; ids of sandboxes and templates are shorter. */
const MIN_SECRET_LENGTH = 32;

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * Returns the path of a request for a log: without its query, which has the signatures of links, and with `*` for each segment that is long
 * enough for a key or a token. UUIDs stay, as they are the ids of builds and keys. A path of a port is `*` as a whole: what the programs of
 * users put into paths may be secret at any length.
 */
export const toShownPath = (url: string, host: 'api' | 'agent' | 'port' | 'malformed'): string => {
  const path = url
    .replace(/^[a-z]+:\/\/[^/?#]*/i, '')
    .split(/[?#]/, 1)
    .join();
  if (host === 'port' || host === 'malformed') return path.length > 1 ? '/*' : path;
  return path
    .split('/')
    .map((segment) => (segment.length < MIN_SECRET_LENGTH || UUID.test(segment) ? segment : '*'))
    .join('/')
    .slice(0, MAX_LENGTH);
};
