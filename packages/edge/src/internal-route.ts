import { posix } from 'node:path';
import { agentPort } from '@skerry/contract/directory';
import type { Target } from './target.ts';

const internalPaths = new Set([
  '/init',
  '/freeze',
  '/unfreeze',
  '/collapse',
  '/fsfreeze',
  '/fsthaw',
  '/upgrade',
]);

/** The normalized path when a request names a route of the agent that only its host may use. */
export const findInternalPath = (target: Target, url: string): string | undefined => {
  if (target.port !== agentPort) return undefined;
  const cleaned = clean(url.split(/[?#]/, 1)[0] ?? '');
  return internalPaths.has(cleaned) ? cleaned : undefined;
};

const clean = (path: string): string => {
  const normal = posix.normalize(`/${decode(path)}`);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
};

const decode = (path: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    // Malformed encoding: no route can match it, so the raw path is compared.
    return path;
  }
};
