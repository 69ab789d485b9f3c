import type { IncomingHttpHeaders } from 'node:http';

/** What the first proxy says in X-Forwarded-Proto of how its client reached it; undefined when it says neither. */
export const forwardedProtocol = (headers: IncomingHttpHeaders): 'http' | 'https' | undefined => {
  const [first] = String(headers['x-forwarded-proto'] ?? '').split(',');
  const name = first?.trim();
  return name === 'http' || name === 'https' ? name : undefined;
};
