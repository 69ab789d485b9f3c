import type { CallOptions } from './call.ts';

/** Where the service is and who is calling. Each setting falls back to `SKERRY_*`, then to `E2B_*` in the environment. */
export interface ConnectionOptions extends CallOptions {
  /** `SKERRY_API_KEY`. */
  apiKey?: string | undefined;
  /**
   * `SKERRY_DOMAIN`. Domain of the sandboxes' host names, with its port: `localhost:4000` by default, or the host of `apiUrl`.
   * What the service answers for a sandbox goes first.
   */
  domain?: string | undefined;
  /** `SKERRY_API_URL`. Default `http://{domain}` on this machine and for IP addresses, `https://api.{domain}` elsewhere. */
  apiUrl?: string | undefined;
  /**
   * `SKERRY_SANDBOX_URL`. One address for the agents of all sandboxes, which are then told apart by request headers. Needed
   * only where the sandboxes' host names cannot be resolved. Host names and signed URLs do not depend on it.
   */
  sandboxUrl?: string | undefined;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Sent with every request, to the API and to sandboxes. */
  headers?: Record<string, string> | undefined;
}
