import type { DescService } from '@bufbuild/protobuf';
import { type Client, createClient as createConnectClient } from '@connectrpc/connect';
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch';
import { readErrorText } from './fetch-http-client.ts';
import { createFetchTransport } from './fetch-transport.ts';
import { Filesystem } from './gen/filesystem/filesystem_pb.ts';
import { Process } from './gen/process/process_pb.ts';
import type { paths } from './gen/schema.ts';

/** The encoding of messages. Both carry the same content; `json` is readable, `binary` is about twice as fast. */
export type Codec = 'json' | 'binary';

export interface ServiceClientOptions {
  /** Base URL of one sandbox's agent, for example `http://49983-{sandboxID}.localhost:4000`. */
  baseUrl: string;
  /** Sent as `X-Access-Token`. A secured sandbox refuses every call but `/health` without it. */
  accessToken?: string | undefined;
  /** User whose home, permissions and ownership apply to process and filesystem calls. The sandbox has a default. */
  user?: string | undefined;
  /**
   * Replaces the global `fetch`. It is called with a `Request` for files and with a URL and its settings for messages.
   */
  fetch?: typeof globalThis.fetch | undefined;
  /** Sent with every call. */
  headers?: Record<string, string> | undefined;
  /** Default `json`. */
  codec?: Codec | undefined;
  /**
   * The largest message that is read: a call that is answered by a larger one fails with `resource_exhausted`. Without it,
   * messages have the limit of the protocol, 4 GiB.
   */
  maxMessageBytes?: number | undefined;
}

export type EnvdClientOptions = ServiceClientOptions;

/** A client of one Connect service, with a method for each of its calls. */
export type ServiceClient<Service extends DescService> = Client<Service>;

export interface EnvdClient {
  /** `GET /health`, `GET` and `POST /files` and `POST /files/compose`, typed by path. */
  files: FetchClient<paths>;
  /** Starts, feeds and ends processes. */
  process: Client<typeof Process>;
  /** Describes, moves, removes and watches files. */
  filesystem: Client<typeof Filesystem>;
}

/**
 * Creates the client of one sandbox. It opens no connection and does not check the token.
 *
 * `files` resolves to `{ data, response }` or `{ error, response }`; `process` and `filesystem` reject with a
 * `ConnectError`. No redirect is followed: it is an error, with its address in the `location` header of `response`, and of the
 * `HttpError` that caused the `ConnectError`. Leaving a `for await` over a stream early does not end it: pass a `signal` and abort it.
 */
export function createEnvdClient(options: EnvdClientOptions): EnvdClient {
  const files = createFetchClient<paths>({
    baseUrl: options.baseUrl,
    headers: toHeaders(options),
    fetch: toFetch(options),
    redirect: 'manual',
  });
  files.use({
    onResponse: async ({ response }) =>
      response.ok || response.body === null
        ? undefined
        : new Response(await readErrorText(response), response),
  });
  return {
    files,
    process: createServiceClient(Process, options),
    filesystem: createServiceClient(Filesystem, options),
  };
}

/** Creates the client of any Connect service, such as one that `npx @skerry/envd-client generate` has read. */
export function createServiceClient<Service extends DescService>(
  service: Service,
  options: ServiceClientOptions,
): ServiceClient<Service> {
  const transport = createFetchTransport({
    baseUrl: options.baseUrl,
    fetch: toFetch(options),
    useBinaryFormat: options.codec === 'binary',
    maxMessageBytes: options.maxMessageBytes,
    headers: {
      ...toHeaders(options),
      ...(options.user ? { Authorization: toBasic(options.user) } : {}),
    },
  });
  return createConnectClient(service, transport);
}

const toHeaders = ({ headers, accessToken }: ServiceClientOptions): Record<string, string> => ({
  ...headers,
  ...(accessToken ? { 'X-Access-Token': accessToken } : {}),
});

const toFetch = ({ fetch }: ServiceClientOptions): typeof globalThis.fetch =>
  fetch ?? ((input, init) => globalThis.fetch(input, init));

/** The value of an `Authorization` header with a user of the sandbox. Its password is always empty. */
export function toBasic(user: string): string {
  return `Basic ${btoa(String.fromCodePoint(...new TextEncoder().encode(`${user}:`)))}`;
}
