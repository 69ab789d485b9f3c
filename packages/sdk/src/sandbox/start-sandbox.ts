import type { components } from '@skerry/platform-client';
import { type Connection, callApi } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';
import { type NetworkRules, toNetworkFields } from './network.ts';

/** What separates a sandbox from the kernel of its host, weakest first: `container` shares it, `gvisor` serves system calls itself. */
export type IsolationLevel = 'container' | 'gvisor';

type SandboxReply = components['schemas']['Sandbox'];

export interface SandboxOptions extends ConnectionOptions {
  /** Id or alias of a template, or id of a snapshot. Default `base`. */
  template?: string | undefined;
  /**
   * Time to live of the sandbox in milliseconds, rounded up to whole seconds. Default: that of the service, 5 minutes.
   */
  timeoutMs?: number | undefined;
  /** Arbitrary pairs, by which `Sandbox.list` filters. */
  metadata?: Record<string, string> | undefined;
  /** Environment of every command in it. */
  envs?: Record<string, string> | undefined;
  /** `false` creates a sandbox whose files and commands require no token. Default true. */
  secure?: boolean | undefined;
  /** The level of isolation below which it never starts. Default: that of the snapshot, or of the service. */
  isolation?: IsolationLevel | undefined;
  /** `false` blocks all outgoing connections. Private networks are never reachable. Default true. */
  allowInternetAccess?: boolean | undefined;
  /** What it may reach. Default: all but private networks. `sandbox.network.set` replaces these. */
  network?: NetworkRules | undefined;
  /**
   * `false` makes its ports private: requests to them need the header `e2b-traffic-access-token`, with the value of
   * `sandbox.trafficAccessToken`. Default true.
   */
  allowPublicTraffic?: boolean | undefined;
  /** `true` pauses the sandbox when it expires instead of killing it, also after each resume. Default false. */
  autoPause?: boolean | undefined;
  /** `false` keeps only the files at that pause. Default true. */
  autoPauseMemory?: boolean | undefined;
  /**
   * `true`: a request to one of its ports, or to its files and commands, resumes the sandbox while it is paused with its memory, and
   * waits for that. It then lives for `timeoutMs`, and at least 5 minutes. Default false.
   */
  autoResume?: boolean | undefined;
  /**
   * Makes the creation safe to repeat, as after a lost connection: calls with the same key and options return the same sandbox. Use a new
   * key for each new sandbox: 1 to 255 of `a-z`, `0-9` and `-`, such as a UUID. The service keeps it for 24 hours.
   */
  idempotencyKey?: string | undefined;
}

export interface ConnectOptions extends ConnectionOptions {
  /**
   * The sandbox lives at least this long from now, in milliseconds. Default: 5 minutes, and a paused sandbox lives for as long as it
   * did before, when that is longer.
   */
  timeoutMs?: number | undefined;
  /** `false` resumes a paused sandbox from its files alone. Default true: with everything that was kept. */
  memory?: boolean | undefined;
}

/**
 * The default of the routes of version 2. The others have 15 s or require a value.
 *
 * @internal
 */
const DEFAULT_TIMEOUT_SECONDS = 300;

/**
 * Creates a sandbox. Sends only the given options.
 *
 * @internal
 */
export async function startSandbox(connection: Connection, options: SandboxOptions): Promise<SandboxReply> {
  const { template = 'base', metadata, envs, secure, allowInternetAccess } = options;
  const { isolation, network, allowPublicTraffic, autoPause, autoPauseMemory, autoResume, idempotencyKey } =
    options;
  const params = idempotencyKey === undefined ? {} : { header: { 'Idempotency-Key': idempotencyKey } };
  const connections = {
    ...(network ? toNetworkFields(network) : {}),
    ...(allowPublicTraffic === undefined ? {} : { allowPublicTraffic }),
  };
  const body = {
    templateID: template,
    ...toTimeout(options),
    ...(metadata ? { metadata } : {}),
    ...(envs ? { envVars: envs } : {}),
    ...(isolation === undefined ? {} : { isolation }),
    ...(allowInternetAccess === undefined ? {} : { allow_internet_access: allowInternetAccess }),
    ...(Object.keys(connections).length > 0 ? { network: connections } : {}),
    ...(autoPause === undefined ? {} : { autoPause }),
    ...(autoPauseMemory === undefined ? {} : { autoPauseMemory }),
    ...(autoResume === undefined ? {} : { autoResume: { enabled: autoResume } }),
  };
  const { data } = await callApi(connection, options, (api, signal) =>
    // The route of version 2 creates secured sandboxes only.
    secure === false
      ? api.POST('/sandboxes', {
          params,
          body: { timeout: DEFAULT_TIMEOUT_SECONDS, ...body, secure },
          signal,
        })
      : api.POST('/v2/sandboxes', { params, body, signal }),
  );
  return data;
}

/**
 * Makes sure that a sandbox runs.
 *
 * @internal
 */
export async function resumeSandbox(
  connection: Connection,
  sandboxId: string,
  options: ConnectOptions,
): Promise<SandboxReply> {
  const params = { path: { sandboxID: sandboxId } };
  const { memory } = options;
  const body = { ...toTimeout(options), ...(memory === undefined ? {} : { memory }) };
  const { data } = await callApi(connection, options, (api, signal) =>
    api.POST('/v2/sandboxes/{sandboxID}/connect', { params, body, signal }),
  );
  return data;
}

function toTimeout({ timeoutMs }: { timeoutMs?: number | undefined }): { timeout?: number } {
  return timeoutMs === undefined ? {} : { timeout: Math.ceil(timeoutMs / 1000) };
}
