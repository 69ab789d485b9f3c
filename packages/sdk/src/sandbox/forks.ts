import type { components } from '@skerry/platform-client';
import type { SandboxError } from '../errors.ts';
import type { CallOptions } from '../transport/call.ts';
import { type Connection, callApi } from '../transport/connection.ts';
import { fromResponse } from '../transport/from-response.ts';
import { DEFAULT_TIMEOUT_SECONDS } from './start-sandbox.ts';

export interface ForkOptions extends CallOptions {
  /** How many copies to make, 1 to 100. Default 1. */
  count?: number | undefined;
  /** Time to live of each copy in milliseconds, rounded up to whole seconds. Default: 5 minutes, as of a new sandbox. */
  timeoutMs?: number | undefined;
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
  const { count, timeoutMs } = options;
  const { data } = await callApi(connection, options, (api, signal) =>
    api.POST('/sandboxes/{sandboxID}/fork', {
      params: { path: { sandboxID: sandboxId } },
      body: {
        timeout: timeoutMs === undefined ? DEFAULT_TIMEOUT_SECONDS : Math.ceil(timeoutMs / 1000),
        ...(count === undefined ? {} : { count }),
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
