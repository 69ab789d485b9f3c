import createClient, { type Client } from 'openapi-fetch';
import type { paths } from './gen/schema.ts';

export interface PlatformClientOptions {
  /** Base URL of the platform API, for example `http://localhost:4000`. */
  baseUrl: string;
  /** Sent as `X-API-Key` with every call. */
  apiKey: string;
  /** Replaces the global `fetch`, for a proxy or for tests. It is called with a `Request`. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** Sent with every call, after the API key, which they may not replace. */
  headers?: Record<string, string> | undefined;
}

export type PlatformClient = Client<paths>;

/**
 * Makes a client with one method per HTTP verb, typed by path. It opens no connection and does not check the key.
 *
 * Every call resolves to `{ data, response }` or `{ error, response }`; it rejects only when no answer came at all.
 * Pass `signal` to a call to abort it.
 */
export function createPlatformClient(options: PlatformClientOptions): PlatformClient {
  return createClient<paths>({
    baseUrl: options.baseUrl,
    headers: { ...options.headers, 'X-API-Key': options.apiKey },
    ...(options.fetch ? { fetch: options.fetch } : {}),
  });
}
