import type { components } from '@skerry/platform-client';
import type { CallOptions } from '../transport/call.ts';
import { type Connection, callApi } from '../transport/connection.ts';

import type { IsolationLevel } from './start-sandbox.ts';

export type SandboxState = 'running' | 'paused';

/** What the service reports about one sandbox. */
export interface SandboxInfo {
  sandboxId: string;
  templateId: string;
  /** Alias of the template. */
  alias?: string;
  state: SandboxState;
  /** Start of the present run or, when paused, of the last. */
  startedAt: Date;
  /** When it expires. When paused, the time of the pause. */
  endAt: Date;
  /** What happens then. Absent in a listing. */
  onEnd?: 'kill' | 'pause';
  cpuCount: number;
  memoryMiB: number;
  diskSizeMiB: number;
  /** What separates it from the kernel of its host. */
  isolation: IsolationLevel;
  metadata: Record<string, string>;
  /** Version of its agent. */
  envdVersion: string;
  /** Rules for outgoing connections, where there are any. Not in lists. */
  network?: { allow: string[]; deny: string[] };
  /** `false`: its ports need the traffic token. Absent where they do not, and in lists. */
  allowPublicTraffic?: boolean;
}

/** @internal */
export function toSandboxInfo(
  sandbox: components['schemas']['ListedSandbox'] & Pick<components['schemas']['SandboxDetail'], 'lifecycle'>,
): SandboxInfo {
  return {
    sandboxId: sandbox.sandboxID,
    templateId: sandbox.templateID,
    ...(sandbox.alias === undefined ? {} : { alias: sandbox.alias }),
    state: sandbox.state,
    startedAt: new Date(sandbox.startedAt),
    endAt: new Date(sandbox.endAt),
    ...(sandbox.lifecycle === undefined ? {} : { onEnd: sandbox.lifecycle.onTimeout }),
    cpuCount: sandbox.cpuCount,
    memoryMiB: sandbox.memoryMB,
    diskSizeMiB: sandbox.diskSizeMB,
    isolation: sandbox.isolation,
    metadata: sandbox.metadata ?? {},
    envdVersion: sandbox.envdVersion,
  };
}

/**
 * Asks the service about one sandbox.
 *
 * @internal
 */
export async function getSandboxInfo(
  connection: Connection,
  sandboxId: string,
  options: CallOptions,
): Promise<SandboxInfo> {
  const { data } = await callApi(connection, options, (api, signal) =>
    api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID: sandboxId } }, signal }),
  );
  const { allowOut = [], denyOut = [], allowPublicTraffic } = data.network ?? {};
  return {
    ...toSandboxInfo(data),
    ...(allowOut.length + denyOut.length > 0 ? { network: { allow: allowOut, deny: denyOut } } : {}),
    ...(allowPublicTraffic === undefined ? {} : { allowPublicTraffic }),
  };
}
