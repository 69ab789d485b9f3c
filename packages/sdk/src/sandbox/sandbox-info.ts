import type { components } from '@skerry/platform-client';

export type SandboxState = 'running' | 'paused';

/** What the service says about one sandbox. */
export interface SandboxInfo {
  sandboxId: string;
  templateId: string;
  /** Alias of the template. */
  alias?: string;
  state: SandboxState;
  /** Start of the present or, when paused, the last run. */
  startedAt: Date;
  /** When it will end. When paused, the moment of the pause. */
  endAt: Date;
  cpuCount: number;
  memoryMiB: number;
  diskSizeMiB: number;
  metadata: Record<string, string>;
  /** Version of the agent inside. */
  envdVersion: string;
}

/** @internal */
export function toSandboxInfo(sandbox: components['schemas']['ListedSandbox']): SandboxInfo {
  return {
    sandboxId: sandbox.sandboxID,
    templateId: sandbox.templateID,
    ...(sandbox.alias === undefined ? {} : { alias: sandbox.alias }),
    state: sandbox.state,
    startedAt: new Date(sandbox.startedAt),
    endAt: new Date(sandbox.endAt),
    cpuCount: sandbox.cpuCount,
    memoryMiB: sandbox.memoryMB,
    diskSizeMiB: sandbox.diskSizeMB,
    metadata: sandbox.metadata ?? {},
    envdVersion: sandbox.envdVersion,
  };
}
