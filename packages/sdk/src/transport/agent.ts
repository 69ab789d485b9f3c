import { createEnvdClient, type EnvdClient, toBasic } from '@skerry/envd-client';
import { type CallOptions, runCall } from './call.ts';
import type { Connection } from './connection.ts';
import { fromResponse } from './from-response.ts';
import { toAgentUrl, toRoutingHeaders } from './sandbox-address.ts';

export interface AgentCallOptions extends CallOptions {
  /** User of the sandbox: sets home, permissions and ownership. Default: that of the template, or else `user`. */
  user?: string | undefined;
}

/**
 * The options that one call passes to a Connect client.
 *
 * @internal
 */
export interface RpcOptions {
  signal: AbortSignal;
  headers: Record<string, string>;
}

/**
 * The agent of one sandbox, and how to call it.
 *
 * @internal
 */
export interface Agent {
  readonly client: EnvdClient;
  readonly requestTimeoutMs: number;
  /** Makes one unary call. */
  rpc<T>(options: AgentCallOptions, send: (client: EnvdClient, rpc: RpcOptions) => Promise<T>): Promise<T>;
  /** True when the agent answers, false when the sandbox is gone or paused. Rejects when neither is certain. */
  probe(options?: CallOptions): Promise<boolean>;
}

interface AgentOptions {
  connection: Connection;
  sandboxId: string;
  domain: string;
  accessToken: string | undefined;
}

const probeTimeoutMs = 5_000;
/** The most that the agent sends as one answer or one event. Code that answers in its place does not fill the memory with more. */
const maxMessageBytes = 64 * 1024 * 1024;

/**
 * Creates the client of one sandbox's agent. It opens no connection.
 *
 * @internal
 */
export function createAgent({ connection, sandboxId, domain, accessToken }: AgentOptions): Agent {
  const client = createEnvdClient({
    baseUrl: toAgentUrl(connection, { sandboxId, domain }),
    headers: { ...connection.headers, ...toRoutingHeaders(sandboxId) },
    maxMessageBytes,
    ...(accessToken ? { accessToken } : {}),
    ...(connection.fetch ? { fetch: connection.fetch } : {}),
  });
  const { requestTimeoutMs } = connection;
  return {
    client,
    requestTimeoutMs,
    rpc: (options, send) =>
      runCall(options, requestTimeoutMs, (signal) =>
        send(client, { signal, headers: toUserHeader(options.user) }),
      ),
    probe: (options = {}) =>
      runCall(options, probeTimeoutMs, async (signal) => {
        const { response, error } = await client.files.GET('/health', { signal });
        if (response.ok) return true;
        if (response.status === 502) return false;
        throw fromResponse({ status: response.status, headers: response.headers, body: error });
      }),
  };
}

/**
 * Sets the user of one call to the agent.
 *
 * @internal
 */
export function toUserHeader(user: string | undefined): Record<string, string> {
  return user ? { Authorization: toBasic(user) } : {};
}
