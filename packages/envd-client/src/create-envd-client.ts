import { type Client, createClient as createConnectClient } from '@connectrpc/connect';
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch';
import { createFetchTransport } from './fetch-transport.ts';
import { Filesystem } from './gen/filesystem/filesystem_pb.ts';
import { Process } from './gen/process/process_pb.ts';
import type { paths } from './gen/schema.ts';

/** How messages are written on the wire. Both carry the same; `json` can be read by people, `binary` is about twice as fast. */
export type Codec = 'json' | 'binary';

export interface EnvdClientOptions {
  /** Base URL of one sandbox's agent, for example `http://49983-{sandboxID}.localhost:4000`. */
  baseUrl: string;
  /** Sent as `X-Access-Token`. A secured sandbox refuses every call but `/health` without it. */
  accessToken?: string | undefined;
  /** User whose home, rights and ownership process and filesystem calls take. The sandbox has a default. */
  user?: string | undefined;
  /** Replaces the global `fetch`. It is called with a `Request` for files and with a URL and its settings for messages. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Sent with every call. */
  headers?: Record<string, string> | undefined;
  /** Default `json`. */
  codec?: Codec | undefined;
}

export interface EnvdClient {
  /** `GET /health`, `GET` and `POST /files` and `POST /files/compose`, typed by path. */
  files: FetchClient<paths>;
  /** Starts, feeds and ends processes. */
  process: Client<typeof Process>;
  /** Describes, moves, removes and watches files. */
  filesystem: Client<typeof Filesystem>;
}

/**
 * Makes the client of one sandbox. It opens no connection and does not check the token.
 *
 * `files` resolves to `{ data, response }` or `{ error, response }`; `process` and `filesystem` reject with a `ConnectError`.
 * Leaving a `for await` over a stream early does not end it: pass a `signal` and abort it.
 */
export function createEnvdClient(options: EnvdClientOptions): EnvdClient {
  const headers = {
    ...options.headers,
    ...(options.accessToken ? { 'X-Access-Token': options.accessToken } : {}),
  };
  const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const transport = createFetchTransport({
    baseUrl: options.baseUrl,
    fetch,
    useBinaryFormat: options.codec === 'binary',
    headers: { ...headers, ...(options.user ? { Authorization: toBasic(options.user) } : {}) },
  });
  return {
    files: createFetchClient<paths>({ baseUrl: options.baseUrl, headers, fetch }),
    process: createConnectClient(Process, transport),
    filesystem: createConnectClient(Filesystem, transport),
  };
}

/** The value of an `Authorization` header that names a user of the sandbox. Its password is always empty. */
export function toBasic(user: string): string {
  return `Basic ${btoa(String.fromCodePoint(...new TextEncoder().encode(`${user}:`)))}`;
}
