import { createContextKey, type HandlerContext } from '@connectrpc/connect';
import { invalid } from '@skerry/contract/error';
import type { User } from '../system/users.ts';

/** The user a call runs for: of its Basic header, or the sandbox's default. Set before the handler runs. */
export const USER = createContextKey<User | undefined>(undefined);

const DEFAULT_KEEPALIVE_SECONDS = 90;

export const userOf = ({ values }: HandlerContext): User => {
  const user = values.get(USER);
  if (user === undefined) throw new Error('the request gate did not set a user');
  return user;
};

/** How long a stream may stay silent, from `Keepalive-Ping-Interval` in seconds. Throws `invalid_argument`. */
export const keepaliveMsOf = ({ requestHeader }: HandlerContext): number => {
  const text = requestHeader.get('keepalive-ping-interval');
  if (text === null) return DEFAULT_KEEPALIVE_SECONDS * 1000;
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (seconds === 0) throw invalid('Keepalive-Ping-Interval must be a positive number of seconds');
  return seconds * 1000;
};

/**
 * Calls `release` when the caller has gone or its time is up, at once if that has happened. A stream must not hold resources until its
 * iteration ends: connect-es may wait for ever for room in a connection that is closed, and then asks for no further message.
 */
export const whenGone = ({ signal }: HandlerContext, release: () => void): void => {
  if (signal.aborted) release();
  else signal.addEventListener('abort', release, { once: true });
};
