import type { NetworkPolicy } from '@skerry/runtime';
import type { ApiKeyStore } from './api-keys/api-key-store.ts';
import type { BuildRow, BuildStore } from './build-store.ts';
import type { CacheStore } from './cache/cache-store.ts';
import type { LeaseStore } from './leases/lease-store.ts';
import type { LogStore } from './log-store.ts';
import type { MetricStore } from './metric-store.ts';
import type { NodeStore } from './nodes/node-store.ts';
import type { StoredStore } from './stored/stored-store.ts';
import type { TagStore, TemplatePart } from './tags/tag-store.ts';
import type { UsageStore } from './usage/usage-store.ts';

/**
 * The state that must survive a restart. Every change is on disk when its promise resolves. Times are integers,
 * milliseconds since the epoch. `suite.ts` is the executable definition.
 */
export interface Store
  extends SandboxStore,
    TemplateStore,
    SnapshotStore,
    BuildStore,
    TagStore,
    UsageStore,
    CacheStore,
    ApiKeyStore,
    WarmStore,
    MetricStore,
    LogStore,
    NodeStore,
    LeaseStore,
    StoredStore {
  /**
   * The same store for one of several servers: changes of sandboxes and nodes reject with `unavailable` when that owner does not have the
   * lease of the node, in the transaction of the change. An owner must not take a lease again before what it began under the former one is over.
   */
  ownedBy(owner: string): Store;
  close(): Promise<void>;
}

export interface SandboxStore {
  /**
   * Writes a row in state `starting`, in one transaction with the check that fewer than `maxActive` sandboxes have a
   * place (`PLACED_STATES`) and that its snapshot is ready and the image of its build exists, and removes the warm instance of that id from its list.
   * Returns `limit` when the limit is reached, `node_full` when that of the node is, `no_snapshot` or `no_image` when that is gone;
   * then nothing is written. A place on a node is recorded in the log of the sandbox.
   */
  reserveSandbox(
    sandbox: NewSandbox,
    options: { maxActive: number; place?: NodePlace | undefined },
  ): Promise<SandboxReservation>;
  /** Moves a row in state `starting` to another node, in one transaction with the check that it has room; also records that in its log. */
  movePlace(id: string, place: NodePlace): Promise<'moved' | 'node_full' | 'not_starting'>;
  /**
   * Moves a paused row to `resuming` with that end, in one transaction with the same check. Returns `limit` when the
   * limit is reached, `node_full` when that of its node is, `not_paused` when the row is in another state or missing; then nothing is
   * written. With `moves` the sandbox is on the node of the place from then on, which its log records: the writer must act for that node
   * instead of the former one, and without a complete copy of the pause it is `not_paused`.
   */
  reserveResume(
    id: string,
    options: { endAt: number; maxActive: number; place?: NodePlace | undefined; moves?: boolean },
  ): Promise<ResumeReservation>;
  findSandbox(id: string): Promise<SandboxRow | undefined>;
  /**
   * Moves a row from one of the expected states to the next. Returns undefined and changes nothing when it is in
   * another state. An entry for the owner goes into the log of the sandbox in the same transaction.
   */
  changeState(id: string, change: StateChange): Promise<SandboxRow | undefined>;
  /**
   * Sets the end of a running sandbox, and its time to live if there is one. With `extendOnly` an earlier end does not change the row. Undefined when not
   * running.
   */
  moveEnd(
    id: string,
    move: { endAt: number; timeToLiveMs?: number | undefined; extendOnly: boolean },
  ): Promise<SandboxRow | undefined>;
  /** Records the policy of a running sandbox, which is pending until `confirmNetwork`. False when it is not running. */
  setNetwork(id: string, network: NetworkPolicy | null): Promise<boolean>;
  /** Records that the sandbox has its policy. */
  confirmNetwork(id: string): Promise<void>;
  /** Rows in these states by start time, ties by id. */
  listSandboxes(query: SandboxQuery): Promise<SandboxRow[]>;
  /** Of those ids, the sandboxes that run, with their runs. */
  listRuns(ids: readonly string[]): Promise<{ id: string; runId: string | null; node: string | null }[]>;
  /** How many sandboxes that have not ended are in each state on each node; null: on no node. */
  countByState(): Promise<{ node: string | null; state: SandboxState; count: number }[]>;
  /** The number of rows that match the same filters. */
  countSandboxes(filter: SandboxFilter): Promise<number>;
  /** Removes sandboxes that ended before that time. */
  deleteEndedSandboxes(before: number): Promise<void>;
}

/** Instances that were started in advance and belong to no sandbox yet. */
export interface WarmStore {
  /** Written before the instance is made. */
  addWarm(warm: WarmRow): Promise<void>;
  /** Call when the instance is removed; `reserveSandbox` removes the row when a sandbox takes the instance. */
  removeWarm(id: string): Promise<void>;
  findWarm(id: string): Promise<WarmRow | undefined>;
  /** The oldest first. */
  listWarm(): Promise<WarmRow[]>;
}

export interface TemplateStore {
  /** The template of that name, created first when it is missing. */
  ensureTemplate(template: NewTemplate): Promise<TemplateRow>;
  /** By id or by name. */
  findTemplate(idOrName: string): Promise<TemplateRow | undefined>;
  /** Templates with their names and latest builds, newest first, ties by id; all of them without a query. */
  listTemplates(query?: TemplateQuery): Promise<ListedTemplate[]>;
  /** Whether every team may use it. Resolves with false when there is no such template. */
  setPublic(id: string, isPublic: boolean): Promise<boolean>;
}

export interface SnapshotStore {
  /** Writes a row in state `making`. */
  beginSnapshot(snapshot: NewSnapshot): Promise<void>;
  /**
   * Makes a snapshot ready and points a tag to it, in one transaction: a tag of the template of that name, created
   * first when it is missing, or of a new one without a name. A snapshot that the tag pointed to before loses it.
   * `taken` when the name is that of another kind of template; undefined when the row is not in state `making`.
   */
  publishSnapshot(id: string, as: SnapshotPlace): Promise<TaggedSnapshot | 'taken' | undefined>;
  /** The snapshot that a tag points to. */
  findSnapshot(templateId: string, tag: string): Promise<TaggedSnapshot | undefined>;
  /** The tag that points to the snapshot of that id. */
  findTagOf(id: string): Promise<TaggedSnapshot | undefined>;
  /** By its own id, in any state. */
  findSnapshotRow(id: string): Promise<SnapshotRow | undefined>;
  /** The tagged snapshots, newest first, ties by id. */
  listSnapshots(query: SnapshotQuery): Promise<TaggedSnapshot[]>;
  /** Ids of the rows in that state. */
  listSnapshotIds(state: SnapshotState): Promise<string[]>;
  /**
   * Deletes a template of snapshots, or a part of it, in one transaction with the check that no running or paused sandbox was created
   * from it. Snapshots without a tag become `removing`.
   */
  retireSnapshots(part: TemplatePart): Promise<'retired' | 'in_use' | 'not_found'>;
  /** Moves ready snapshots without a tag and a sandbox, which are no checkpoint of a tagged build and not in the cache of builds, to `removing`. */
  retireUnused(): Promise<void>;
  /**
   * Closes the row of a snapshot whose files are gone: kept as `removed` while another snapshot descends from it, else
   * deleted.
   */
  forgetSnapshot(id: string): Promise<void>;
}

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

export type SandboxReservation = 'reserved' | 'limit' | 'node_full' | 'no_snapshot' | 'no_image';

export type ResumeReservation = 'reserved' | 'limit' | 'node_full' | 'not_paused';

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

export interface NewSandbox {
  id: string;
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
  /** Whether the agent requires the access token. */
  secure: boolean;
  /** Null when the creator did not choose. */
  network: NetworkPolicy | null;
  /** What expiry keeps; null: the sandbox is killed then. */
  autoPause: PauseKind | null;
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
  states: readonly SandboxState[];
  /** All pairs must match exactly. */
  metadata?: readonly (readonly [key: string, value: string])[];
  templateId?: string;
  ids?: readonly string[];
  /** On one of these; null: on no node. */
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
  /** Whether every team may use it. An installation has one team, so this is only stored and reported. */
  public: boolean;
}

export interface TemplateQuery {
  id?: string;
  kinds?: readonly TemplateKind[];
  limit?: number;
  /** Only templates after this position. */
  after?: { createdAt: number; id: string };
}

/** A build without what it runs and keeps. */
export type ListedBuild = Pick<
  BuildRow,
  'id' | 'state' | 'createdAt' | 'startedAt' | 'finishedAt' | 'cpuCount' | 'memoryMb' | 'diskMb'
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
  /** Also its id in the runtime. */
  id: string;
  sandboxId: string;
  /** The snapshot that its sandbox began with. */
  parentId: string | null;
  /** The build of its sandbox. */
  buildId: string | null;
  kind: PauseKind;
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

/** The template and tag of a snapshot. */
export interface SnapshotPlace {
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
  sandboxId?: string;
  templateId?: string;
  limit?: number;
  /** Only rows after this position. */
  after?: { createdAt: number; id: string };
}
