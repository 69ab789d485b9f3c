import type { components } from '@skerry/platform-client';
import type { SandboxRow } from '../store/rows.ts';
import type { Scope } from '../store/scope.ts';
import { toAccessToken, toTrafficToken } from '../tokens.ts';
import { AGENT_VERSION } from './agent-version.ts';
import { toNetworkFields } from './network/network-policy.ts';

type Schemas = components['schemas'];

export interface ReplyContext {
  secret: string;
  /** Public domain of sandboxes with its port; null: the domain of the platform API. */
  domain: string | null;
}

// A leftover of the protocol: any constant will do.
const CLIENT_ID = 'skerry';

const toTokenField = (row: SandboxRow, secret: string) =>
  row.secure ? { envdAccessToken: toAccessToken(secret, row.id) } : {};

const toAliasField = ({ templateName }: SandboxRow) => (templateName === null ? {} : { alias: templateName });

export const toSandbox = (row: SandboxRow, { secret, domain }: ReplyContext): Schemas['Sandbox'] => ({
  templateID: row.templateId,
  sandboxID: row.id,
  clientID: CLIENT_ID,
  envdVersion: AGENT_VERSION,
  ...toAliasField(row),
  ...toTokenField(row, secret),
  trafficAccessToken: row.ingress?.isPrivate === true ? toTrafficToken(secret, row.id) : null,
  domain,
});

export const toListedSandbox = (row: SandboxRow): Schemas['ListedSandbox'] => ({
  templateID: row.templateId,
  sandboxID: row.id,
  clientID: CLIENT_ID,
  startedAt: new Date(row.startedAt).toISOString(),
  endAt: new Date(row.pausedAt ?? row.endAt).toISOString(),
  cpuCount: row.cpuCount,
  memoryMB: row.memoryMb,
  diskSizeMB: row.diskMb,
  isolation: row.isolation,
  state: row.state === 'running' ? 'running' : 'paused',
  envdVersion: AGENT_VERSION,
  ...toAliasField(row),
  ...(Object.keys(row.metadata).length > 0 && { metadata: row.metadata }),
});

export const toSandboxDetail = (
  row: SandboxRow,
  { secret, domain, scope }: ReplyContext & { scope: Scope },
): Schemas['SandboxDetail'] => ({
  ...toListedSandbox(row),
  // The token allows to run commands.
  ...(!scope.isReadOnly && toTokenField(row, secret)),
  ...toNetworkFields(row),
  domain,
  lifecycle: { autoResume: row.wakeMs !== null, onTimeout: row.autoPause === null ? 'kill' : 'pause' },
});
