import type { IncomingMessage } from 'node:http';
import { ApiError } from '@skerry/contract/error';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { ApiKeyRow } from '../../store/api-keys/api-key-row.ts';

const WINDOW_SECONDS = 1;

/** Counts the requests of each key whose limits have a rate, in this process. */
export interface RequestRates {
  /** Rejects with `resource_exhausted` when a key has made more requests in this second than it may. */
  count(request: IncomingMessage, key: Pick<ApiKeyRow, 'id' | 'name' | 'limits'>): Promise<void>;
  /** Returns the header fields of the answer to a counted request, and none for others. */
  fieldsOf(request: IncomingMessage): Record<string, string>;
}

export const createRequestRates = (): RequestRates => {
  // The counter forgets a key when its second is over, so its size is bounded by the keys in use. Keys have different
  // limits, so it only counts.
  const counter = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: WINDOW_SECONDS });
  const counted = new WeakMap<IncomingMessage, Record<string, string>>();
  return {
    count: async (request, { id, name, limits: { requestsPerSecond: max } }) => {
      if (max === undefined) return;
      const { consumedPoints, msBeforeNext } = await counter.consume(id);
      const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
      counted.set(request, toFields({ max, remaining: Math.max(0, max - consumedPoints), seconds }));
      if (consumedPoints <= max) return;
      throw new ApiError(
        'resource_exhausted',
        `the key "${name}" is limited to ${max} ${max === 1 ? 'call' : 'calls'} per second on each server, and has made ${consumedPoints}: try again in ${seconds} s`,
        { headers: { 'Retry-After': String(seconds) } },
      );
    },
    fieldsOf: (request) => counted.get(request) ?? {},
  };
};

/** The fields of clients of the protocol, then those of draft-ietf-httpapi-ratelimit-headers-10. */
const toFields = ({ max, remaining, seconds }: { max: number; remaining: number; seconds: number }) => ({
  'RateLimit-Limit': String(max),
  'RateLimit-Remaining': String(remaining),
  'RateLimit-Reset': String(seconds),
  'RateLimit-Policy': `"key";q=${max};w=${WINDOW_SECONDS}`,
  RateLimit: `"key";r=${remaining};t=${seconds}`,
});
