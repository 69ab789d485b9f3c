import type { components } from '@skerry/platform-client';
import type { SandboxError } from '../errors.ts';
import type { CallOptions } from '../transport/call.ts';
import { type Connection, callApi } from '../transport/connection.ts';
import { fromResponse } from '../transport/from-response.ts';

export interface ForkOptions extends CallOptions {
  /** How many copies to make, 1 to 100. Default 1. */
  count?: number | undefined;
  /** Time to live of each copy in milliseconds, rounded up to whole seconds. Default: 5 minutes, as of a new sandbox. */
  timeoutMs?: number | undefined;
  /** Copy memory and processes too. Default true. With false the copies begin with the files alone. */
  memory?: boolean | undefined;
}

/**
 * One entry for each requested copy: the sandbox as the service describes it, or the error.
 *
 * @internal
 */
export async function forkSandbox(
  connection: Connection,
  sandboxId: string,
  options: ForkOptions,
): Promise<(components['schemas']['Sandbox'] | SandboxError)[]> {
  const { count, timeoutMs, memory } = options;
  const { data } = await callApi(connection, options, (api, signal) =>
    api.POST('/v2/sandboxes/{sandboxID}/fork', {
      params: { path: { sandboxID: sandboxId } },
      body: {
        ...(timeoutMs === undefined ? {} : { timeout: Math.ceil(timeoutMs / 1000) }),
        ...(count === undefined ? {} : { count }),
        ...(memory === undefined ? {} : { memory }),
      },
      signal,
    }),
  );
  return data.map((entry) =>
    'sandbox' in entry
      ? entry.sandbox
      : fromResponse({ status: entry.error.code, headers: new Headers(), body: entry.error }),
  );
}
