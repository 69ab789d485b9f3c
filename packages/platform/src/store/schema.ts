import type { Generated } from 'kysely';
import type { BuildLogTable, BuildTable } from './build-tables.ts';
import type { BuildCacheTable } from './cache/cache-tables.ts';
import type { LeaseTable } from './leases/lease-tables.ts';
import type { LogSourceTable, LogTable } from './log-tables.ts';
import type { MetricTable } from './metric-tables.ts';
import type { NodeTable } from './nodes/node-tables.ts';
import type { SnapshotTable, TemplateTagTable } from './snapshot-tables.ts';
import type { EndCause, PauseKind, SandboxState, TemplateKind } from './store.ts';
import type { StoredSnapshotTable } from './stored/stored-tables.ts';
import type { BuildTagTable } from './tags/tag-tables.ts';

/** The tables in a portable form: times and flags as integers, maps as JSON text. */
export interface Schema {
  sandboxes: SandboxTable;
  sandbox_metadata: SandboxMetadataTable;
  warm_instances: WarmInstanceTable;
  templates: TemplateTable;
  template_names: TemplateNameTable;
  template_tags: TemplateTagTable;
  snapshots: SnapshotTable;
  builds: BuildTable;
  build_tags: BuildTagTable;
  build_logs: BuildLogTable;
  build_cache: BuildCacheTable;
  api_keys: ApiKeyTable;
  sandbox_metrics: MetricTable;
  sandbox_logs: LogTable;
  log_sources: LogSourceTable;
  nodes: NodeTable;
  leases: LeaseTable;
  stored_snapshots: StoredSnapshotTable;
}

export interface SandboxTable {
  id: string;
  template_id: string;
  /** Empty: the template has no name. */
  template_name: string;
  snapshot_id: string | null;
  build_id: string | null;
  state: SandboxState;
  run_id: string | null;
  created_at: number;
  started_at: number;
  end_at: number;
  time_to_live_ms: number;
  ended_at: number | null;
  cause: EndCause | null;
  metadata: string;
  env_vars: string;
  secure: number;
  /** JSON. */
  network: string | null;
  /** 1 until the sandbox has it. */
  network_pending: Generated<number>;
  auto_pause: PauseKind | null;
  paused_at: number | null;
  paused_with: PauseKind | null;
  cpu_count: number;
  memory_mb: number;
  disk_mb: number;
  node: string | null;
}

/**
 * The pairs of `sandboxes.metadata` once more, one for each row, so that a filter is a plain indexed lookup in any
 * database.
 */
export interface SandboxMetadataTable {
  sandbox_id: string;
  key: string;
  value: string;
}

export interface WarmInstanceTable {
  id: string;
  spec: string;
  created_at: number;
  node: string | null;
}

export interface TemplateTable {
  id: string;
  kind: TemplateKind;
  public: Generated<number>;
  created_at: number;
  cpu_count: number;
  memory_mb: number;
  disk_mb: number;
}

export interface TemplateNameTable {
  name: string;
  template_id: string;
}

export interface ApiKeyTable {
  hash: string;
  mask: string;
  name: string;
  created_at: number;
  last_used_at: number | null;
}
