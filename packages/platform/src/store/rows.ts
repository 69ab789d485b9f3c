import type { IsolationLevel } from '@skerry/contract/isolation';
import type { NetworkPolicy } from '@skerry/runtime';
import type { BuildRow } from './build-rows.ts';
import type { QuotaExceeded } from './quotas/quota-rows.ts';
import type { Scope } from './scope.ts';

export type SandboxState = 'starting' | 'running' | 'pausing' | 'paused' | 'resuming' | 'killing' | 'ended';

/** Every state in which resources of the sandbox may still be on the host. */
export const ACTIVE_STATES: readonly SandboxState[] = [
  'starting',
  'running',
  'pausing',
  'paused',
  'resuming',
  'killing',
];

export const ALL_STATES: readonly SandboxState[] = [...ACTIVE_STATES, 'ended'];

/** States of a sandbox that exists, or is about to. */
export const ALIVE_STATES: readonly SandboxState[] = ACTIVE_STATES.filter((state) => state !== 'killing');

/** States that callers see as `paused`: on disk, pausing, or resuming. */
export const PAUSED_STATES: readonly SandboxState[] = ['pausing', 'paused', 'resuming'];

/** States that count against the concurrency limit. A failed pause returns to `running`. */
export const PLACED_STATES: readonly SandboxState[] = ['starting', 'running', 'pausing', 'resuming'];

/** What a pause keeps: processes with their memory and files, or files alone. */
export type PauseKind = 'memory' | 'filesystem';

export type SandboxReservation =
  | 'reserved'
  | 'limit'
  | 'node_full'
  | 'no_snapshot'
  | 'no_image'
  | QuotaExceeded;

export type ResumeReservation = 'reserved' | 'limit' | 'node_full' | 'not_paused' | QuotaExceeded;

/** A node, and how many sandboxes may have a place on it. */
export interface NodePlace {
  node: string;
  maxActive: number;
  /** Why there, for the log of the sandbox. */
  reason?: string;
}

/**
 * Why a sandbox ended: `killed` by its owner, `expired`, `exited` by itself, `failed` to start, or `lost`: the host no
 * longer had it when the server looked.
 */
export type EndCause = 'killed' | 'expired' | 'exited' | 'failed' | 'lost';

/** How the ports of a sandbox are reached, except that of its agent. */
export interface Ingress {
  /** Whether they need the traffic token. */
  isPrivate: boolean;
  /** The field of `PortAccess`. */
  maskHost?: string;
  httpsPorts?: number[];
}

export interface NewSandbox {
  id: string;
  /** Whose it is, as all that comes from it. */
  project: string;
  /** The key that created it, whose limits count it; null: none did. */
  keyId: string | null;
  templateId: string;
  /** Null when the template has no name. */
  templateName: string | null;
  /** The snapshot that it began with; null: the image of its template. */
  snapshotId: string | null;
  /** The build whose image its files lie over, also below a snapshot; null: the image of the installation. */
  buildId: string | null;
  createdAt: number;
  endAt: number;
  metadata: Record<string, string>;
  envVars: Record<string, string>;
  /** The user of processes for which nothing else is said, as in `RunConfig`. */
  defaultUser: string;
  /** Their folder. */
  defaultWorkdir: string;
  /** Whether the agent requires the access token. */
  secure: boolean;
  /** What separates it from the kernel of its host: the level of its present or last run, before that the one that was chosen. */
  isolation: IsolationLevel;
  /** Null when the creator did not choose. */
  network: NetworkPolicy | null;
  /** Null when the creator did not choose. */
  ingress: Ingress | null;
  /** What expiry keeps; null: the sandbox is killed then. */
  autoPause: PauseKind | null;
  /** How long it lives when traffic has resumed it; null: traffic does not. */
  wakeMs: number | null;
  cpuCount: number;
  memoryMb: number;
  diskMb: number;
}

export interface SandboxRow extends NewSandbox {
  /** The node on which it is; null: this host. */
  node: string | null;
  state: SandboxState;
  /** Null until its first run. */
  runId: string | null;
  /** Start of the present run or, when paused, of the last; before the first run the time of creation. */
  startedAt: number;
  /** The time to live that was last requested: by the create, a resume or a new timeout, not by an extension. */
  timeToLiveMs: number;
  /** Whether its policy is on record and perhaps not yet in force. */
  networkPending: boolean;
  /** The start of the last pause. Null while it runs. */
  pausedAt: number | null;
  /** What the pause keeps. Null while it runs. */
  pausedWith: PauseKind | null;
  endedAt: number | null;
  cause: EndCause | null;
}

export interface StateChange {
  from: readonly SandboxState[];
  to: SandboxState;
  /** An additional condition: the row's end is no later than this. */
  endAtMost?: number;
  /** An additional condition: the row is in this run. */
  runId?: string;
  set?: Partial<
    Pick<
      SandboxRow,
      | 'runId'
      | 'isolation'
      | 'startedAt'
      | 'endAt'
      | 'timeToLiveMs'
      | 'endedAt'
      | 'cause'
      | 'pausedAt'
      | 'pausedWith'
      | 'snapshotId'
      | 'node'
    >
  >;
}

export interface SandboxFilter {
  /** Only those that a caller may see. */
  scope?: Scope;
  states: readonly SandboxState[];
  /** All pairs must match exactly. */
  metadata?: readonly (readonly [key: string, value: string])[];
  templateId?: string;
  ids?: readonly string[];
  /** Only sandboxes on one of these nodes; null: on no node. */
  nodes?: readonly (string | null)[];
  /** Only those whose policy is pending. */
  isNetworkPending?: true;
  /** Inclusive. */
  startedFrom?: number;
  /** Inclusive. */
  endsUntil?: number;
}

export interface SandboxQuery extends SandboxFilter {
  order: 'asc' | 'desc';
  limit?: number;
  /** Only rows after this position, in that order. */
  after?: { startedAt: number; id: string };
}

export interface WarmRow {
  id: string;
  /** The spec of the instance, in a form that is equal for interchangeable instances. */
  spec: string;
  createdAt: number;
  /** Where it is; null: this host. */
  node: string | null;
}

export interface NewTemplate {
  id: string;
  /** Whose it is. */
  project: string;
  name: string;
  createdAt: number;
  cpuCount: number;
  memoryMb: number;
  diskMb: number;
}

/**
 * An `image` of the installation has one state, tagged `default`; the tags of a `snapshot` point to snapshots, those of
 * a `build` to builds.
 */
export type TemplateKind = 'image' | 'snapshot' | 'build';

export interface TemplateRow extends Omit<NewTemplate, 'name'> {
  kind: TemplateKind;
  name: string | null;
  /** Whether every project may create sandboxes and templates from it. */
  public: boolean;
}

export interface TemplateQuery {
  /** Only those of the project of a caller; of others, only its own sandboxes are counted. */
  scope?: Scope;
  id?: string;
  kinds?: readonly TemplateKind[];
  limit?: number;
  /** Only templates after this position. */
  after?: { createdAt: number; id: string };
}

/** A build without what it runs and keeps. */
export type ListedBuild = Pick<
  BuildRow,
  'id' | 'state' | 'createdAt' | 'startedAt' | 'finishedAt' | 'cpuCount' | 'memoryMb' | 'diskMb' | 'isolation'
>;

export interface ListedTemplate {
  template: TemplateRow;
  /** The latest one, of equal times that with the last id; null for templates without builds. */
  build: ListedBuild | null;
  buildCount: number;
  /** How many sandboxes of it are on record, and when the last of them was created. */
  spawnCount: number;
  lastSpawnedAt: number | null;
}

/**
 * `making` until its files are safe, then `ready`, and `removing` until they are gone. `removed` is kept for the
 * snapshots that descend from it.
 */
export type SnapshotState = 'making' | 'ready' | 'removing' | 'removed';

export interface NewSnapshot {
  /** The id of the snapshot, also in the runtime. */
  id: string;
  /** The project of its sandbox or build. */
  project: string;
  sandboxId: string;
  /** The snapshot that its sandbox began with. */
  parentId: string | null;
  /** The build of its sandbox. */
  buildId: string | null;
  kind: PauseKind;
  /** The level of its sandbox. */
  isolation: IsolationLevel;
  createdAt: number;
  cpuCount: number;
  memoryMb: number;
  diskMb: number;
  /** The node on which it is; null, the default: this host. */
  node?: string | null;
}

export interface SnapshotRow extends NewSnapshot {
  node: string | null;
  state: SnapshotState;
  /** Null until it is ready. */
  templateId: string | null;
}

/** The template and tag of a snapshot. The name is one of its project. */
export interface SnapshotTag {
  /** The id of the template, if one has to be created. */
  templateId: string;
  name: string | null;
  tag: string;
}

export interface TaggedSnapshot extends SnapshotRow {
  templateId: string;
  templateName: string | null;
  tag: string;
}

export interface SnapshotQuery {
  /** Only those of the project of a caller. */
  scope?: Scope;
  sandboxId?: string;
  templateId?: string;
  limit?: number;
  /** Only rows after this position. */
  after?: { createdAt: number; id: string };
}

/** How many sandboxes of a level are in a state on a node. */
export interface SandboxCount extends Pick<SandboxRow, 'node' | 'state' | 'isolation'> {
  count: number;
}
