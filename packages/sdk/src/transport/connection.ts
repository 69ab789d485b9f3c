import { createPlatformClient, type PlatformClient } from '@skerry/platform-client';
import { toSandboxError } from '../errors.ts';
import { type CallOptions, runCall } from './call.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { readSetting } from './environment.ts';
import { fromResponse } from './from-response.ts';
import { isLocalDomain } from './local-domain.ts';
import { createRetryingFetch } from './retrying-fetch.ts';

/** The effective settings: options first, then the environment, then defaults. */
export interface Connection {
  readonly apiUrl: string;
  readonly domain: string;
  readonly sandboxUrl: string | undefined;
  readonly requestTimeoutMs: number;
  readonly fetch: typeof globalThis.fetch | undefined;
  readonly headers: Record<string, string>;
  readonly api: PlatformClient;
}

const defaultDomain = 'localhost:4000';
const defaultRequestTimeoutMs = 60_000;
const defaultMaxRetryWaitMs = 10_000;

/**
 * Resolves the settings and creates the client of the platform API. Throws `unauthenticated` when there is no API key.
 */
export function createConnection(options: ConnectionOptions): Connection {
  const apiKey = options.apiKey || readSetting('API_KEY');
  if (!apiKey) {
    throw toSandboxError('unauthenticated', 'no API key: pass apiKey or set SKERRY_API_KEY');
  }
  const requestTimeoutMs = options.requestTimeoutMs ?? defaultRequestTimeoutMs;
  const maxRetryWaitMs = options.maxRetryWaitMs ?? defaultMaxRetryWaitMs;
  const headers = options.headers ?? {};
  const addresses = resolveAddresses(options);
  return {
    ...addresses,
    requestTimeoutMs,
    fetch: options.fetch,
    headers,
    api: createPlatformClient({
      baseUrl: addresses.apiUrl,
      apiKey,
      headers,
      fetch: createRetryingFetch({ fetch: options.fetch, requestTimeoutMs, maxRetryWaitMs }),
    }),
  };
}

/** The addresses of the API and the sandboxes. An empty string counts as unset. */
export function resolveAddresses(
  options: Pick<ConnectionOptions, 'apiUrl' | 'domain' | 'sandboxUrl'>,
): Pick<Connection, 'apiUrl' | 'domain' | 'sandboxUrl'> {
  const givenApiUrl = options.apiUrl || readSetting('API_URL');
  const givenDomain = options.domain || readSetting('DOMAIN');
  const domain =
    givenDomain ?? (givenApiUrl ? new URL(givenApiUrl).host.replace(/^api\./, '') : defaultDomain);
  return {
    apiUrl: givenApiUrl ?? (isLocalDomain(domain) ? `http://${domain}` : `https://api.${domain}`),
    domain,
    sandboxUrl: options.sandboxUrl || readSetting('SANDBOX_URL'),
  };
}

interface ApiAnswer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Makes one call to the platform API and returns its response. Rejects with a `SandboxError` for any status but 2xx. */
export async function callApi<T>(
  connection: Connection,
  options: CallOptions,
  send: (api: PlatformClient, signal: AbortSignal) => Promise<ApiAnswer<T>>,
): Promise<{ data: T; response: Response }> {
  return runCall(options, connection.requestTimeoutMs, async (signal) => {
    const { data, error, response } = await send(connection.api, signal);
    if (!response.ok) throw fromResponse({ status: response.status, headers: response.headers, body: error });
    return { data: data as T, response };
  });
}
