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
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Sent with every request, to the API and to sandboxes. */
  headers?: Record<string, string> | undefined;
}
