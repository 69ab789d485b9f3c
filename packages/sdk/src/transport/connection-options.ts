import type { CallOptions } from './call.ts';

/**
 * The address of the service and the API key. Each setting falls back to `SKERRY_*`, then to `E2B_*` in the
 * environment.
 */
export interface ConnectionOptions extends CallOptions {
  /** `SKERRY_API_KEY`. */
  apiKey?: string | undefined;
  /**
   * `SKERRY_DOMAIN`. Domain of the sandboxes' host names, with its port: `localhost:4000` by default, or the host of
   * `apiUrl`. A domain in the service's response for a sandbox takes precedence.
   */
  domain?: string | undefined;
  /**
   * `SKERRY_API_URL`. Default `http://{domain}` on this machine and for IP addresses, `https://api.{domain}`
   * elsewhere.
   */
  apiUrl?: string | undefined;
  /**
   * `SKERRY_SANDBOX_URL`. One address for the agents of all sandboxes, which request headers then distinguish. Needed
   * only if the sandboxes' host names cannot be resolved. Host names and signed URLs do not depend on it.
   */
  sandboxUrl?: string | undefined;
  /**
   * How long one call of the API waits in all, in milliseconds, before it repeats a request that the service has refused with 429 and a
   * `Retry-After`. A refusal that asks for more rejects at once, with `RateLimitError`. Default 10 000; 0 never waits. The wait ends
   * with the signal of the call, and counts towards `requestTimeoutMs`.
   */
  maxRetryWaitMs?: number | undefined;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Sent with every request, to the API and to sandboxes. */
  headers?: Record<string, string> | undefined;
}
