import createClient, { type Client } from 'openapi-fetch';
import type { paths } from './gen/schema.ts';

export interface PlatformClientOptions {
  /** Base URL of the platform API, for example `http://localhost:4000`. */
  baseUrl: string;
  /** Sent as `X-API-Key` with every call. */
  apiKey: string;
  /** Replaces the global `fetch`, for a proxy or for tests. It is called with a `Request`. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** The server refuses keys of a body that it does not know, with 400 and their name, instead of ignoring them. */
  strict?: boolean | undefined;
  /** Sent with every call, after the API key, which they must not replace. */
  headers?: Record<string, string> | undefined;
}

/** Typed by the paths of the document, or of one that `npx @skerry/platform-client generate` has read. */
export type PlatformClient<Paths extends object = paths> = Client<Paths>;

/**
 * Creates a client with one method per HTTP verb, typed by path. It opens no connection and does not check the key.
 *
 * Every call resolves to `{ data, response }` or `{ error, response }`; it rejects only when there was no response.
 * No redirect is followed: it is an error, with its address in the `location` header of `response`. Pass `signal` to a call to abort it.
 */
export function createPlatformClient<Paths extends object = paths>(
  options: PlatformClientOptions,
): PlatformClient<Paths> {
  return createClient<Paths>({
    baseUrl: options.baseUrl,
    headers: {
      ...options.headers,
      ...(options.strict ? { 'X-Skerry-Strict': 'true' } : {}),
      'X-API-Key': options.apiKey,
    },
    ...(options.fetch ? { fetch: options.fetch } : {}),
    redirect: 'manual',
  });
}
