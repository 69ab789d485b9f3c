import type { Generated, Kysely } from 'kysely';
import type { ApiKeyRow } from './api-keys/api-key-row.ts';
import type { BlobCopyTable } from './blob-copies/copy-rows.ts';
import type { BuildLogRow, BuildRow } from './build-rows.ts';
import type { CachedResult } from './cache/cache-rows.ts';
import type { Columns } from './columns.ts';
import type { KeyedCallRow } from './idempotency/idempotency-rows.ts';
import type { LeaseTable } from './leases/lease-rows.ts';
import type { LogSource, NewLogEntry } from './log-rows.ts';
import type { MetricRow } from './metric-rows.ts';
import type { NodeRow } from './nodes/node-rows.ts';
import type { SandboxRow, SnapshotRow, TemplateRow, WarmRow } from './rows.ts';
import type { BuildTag } from './tags/tag-rows.ts';

/** The tables in a portable form: times as integers, maps as JSON text. */
export interface Schema {
  sandboxes: Columns<SandboxRow, 'metadata' | 'envVars' | 'network' | 'ingress'>;
  /** The pairs of `metadata` once more, one for each row: a filter is then a plain indexed lookup in any database. */
  sandboxMetadata: { sandboxId: string; key: string; value: string };
  warmInstances: WarmRow;
  templates: Omit<TemplateRow, 'name'>;
  /** A project has a name once. */
  templateNames: { project: string; name: string; templateId: string };
  /** The snapshot that a tag of a template points to. */
  templateTags: { templateId: string; tag: string; snapshotId: string };
  snapshots: SnapshotRow;
  builds: Columns<BuildRow, 'tags' | 'env' | 'runConfig' | 'start' | 'reason'>;
  buildTags: BuildTag & { templateId: string; requestedAt: number };
  buildLogs: BuildLogRow & { buildId: string; position: number };
  buildCache: Columns<CachedResult, 'config'>;
  apiKeys: Columns<ApiKeyRow, 'limits'>;
  keyedCalls: Columns<KeyedCallRow, 'answer'>;
  sandboxMetrics: MetricRow;
  /** The level as its place in `logLevels`. */
  sandboxLogs: Omit<Columns<NewLogEntry, 'fields'>, 'level'> & { id: Generated<number>; level: number };
  logSources: LogSource & { storedBytes: number };
  nodes: Columns<NodeRow, 'status'>;
  leases: LeaseTable;
  blobCopies: BlobCopyTable;
}

export type Database = Kysely<Schema>;
