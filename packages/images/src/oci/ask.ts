import { ImageError } from '../image-error.ts';
import type { Reach } from './reach.ts';

const ANSWER_MS = 15_000;

/**
 * Sends one request and resolves with the head of its answer, of any status. Rejects with `registry_unavailable` when there is
 * none in time, by default 15 s, with an ImageError of `reach`, or with the reason of `signal`.
 */
export async function ask(
  url: URL,
  options: {
    reach: Reach;
    headers: Record<string, string>;
    /** Makes the request a POST. */
    body?: string | undefined;
    signal: AbortSignal | undefined;
    answerTimeoutMs?: number | undefined;
  },
): Promise<Response> {
  const { reach, headers, body, signal, answerTimeoutMs = ANSWER_MS } = options;
  // Aborts the wait for the head; afterwards only the caller's signal ends the body.
  const slow = new AbortController();
  const timer = setTimeout(() => slow.abort(), answerTimeoutMs);
  try {
    return await reach(url, {
      headers,
      body,
      signal: signal ? AbortSignal.any([signal, slow.signal]) : slow.signal,
    });
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof ImageError) throw cause;
    throw new ImageError('registry_unavailable', `${url.host} does not answer`, { cause });
  } finally {
    clearTimeout(timer);
  }
}

/** The code of the error for an answer that is no success. */
export const toRefusalCode = (status: number): 'registry_unavailable' | 'registry_refused' =>
  status === 429 || status >= 500 ? 'registry_unavailable' : 'registry_refused';
