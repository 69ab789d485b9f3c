import { ImageError } from '../image-error.ts';

/** A parsed image reference, `[host[:port]/]path[:tag][@digest]`. */
export interface ImageReference {
  /** `https://host`, or `http://host:port` for a registry on loopback. */
  baseUrl: string;
  repository: string;
  /** The tag or digest of the manifest: the digest when the reference has one, otherwise the tag. */
  version: string;
}

// Grammar of the OCI distribution specification, "Pulling manifests".
const pathPattern = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const tagPattern = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/;
const hostPattern = /^(?:\[[0-9a-f:]+\]|[a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::\d{1,5})?$/i;
export const digestPattern = /^sha256:[0-9a-f]{64}$/;

/**
 * Parses an image reference as container tools do: a first part with a dot, a colon, or `localhost` is a host, anything
 * else is on Docker Hub. A registry on loopback is reached by plain http, every other by https. Throws
 * `invalid_reference`.
 */
export function parseReference(text: string): ImageReference {
  const refuse = (reason: string): ImageError =>
    new ImageError(
      'invalid_reference',
      `${JSON.stringify(text.slice(0, 200))} is no image reference: ${reason}`,
    );
  if (text.length > 500) throw refuse('too long');
  const [name = '', digest, ...more] = text.split('@');
  if (more.length > 0 || (digest !== undefined && !digestPattern.test(digest)))
    throw refuse('a digest must be sha256: and 64 hex digits');
  const slash = name.indexOf('/');
  const first = slash === -1 ? '' : name.slice(0, slash);
  const hasHost = /[.:[]/.test(first) || first === 'localhost';
  const host = hasHost ? first : 'docker.io';
  if (!hostPattern.test(host)) throw refuse('the host is malformed');
  const rest = hasHost ? name.slice(slash + 1) : name;
  const colon = rest.indexOf(':');
  const path = colon === -1 ? rest : rest.slice(0, colon);
  const tag = colon === -1 ? 'latest' : rest.slice(colon + 1);
  if (!pathPattern.test(path)) throw refuse('the path must be lower case words with single separators');
  if (!tagPattern.test(tag)) throw refuse('the tag is malformed');
  const isHub = host === 'docker.io' || host === 'index.docker.io';
  const baseUrl = `${isLoopback(host) ? 'http' : 'https'}://${isHub ? 'registry-1.docker.io' : host}`;
  if (!URL.canParse(baseUrl)) throw refuse('the host is malformed');
  return {
    baseUrl,
    repository: isHub && !path.includes('/') ? `library/${path}` : path,
    version: digest ?? tag,
  };
}

/** Converts each form of a reference to one text. Throws as `parseReference`. */
export function toCanonical(text: string): string {
  const { baseUrl, repository, version } = parseReference(text);
  return `${baseUrl}/${repository}${digestPattern.test(version) ? '@' : ':'}${version}`;
}

/** Whether a reference is the reserved name of the image without files, which no registry has. */
export const isEmptyImage = (text: string): boolean => text === 'scratch';

/** Whether a URL is allowed: https anywhere, http only when it stays on this host. */
export function isAllowedUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.host));
}

/** Whether an authority, `host[:port]`, names this host. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, '');
  return name === 'localhost' || name === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(name);
}
