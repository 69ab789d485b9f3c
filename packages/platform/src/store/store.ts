import type { LogStore } from './log-store.ts';
import type { MetricStore } from './metric-store.ts';
/**
 * What must survive a restart. Every change is on disk when its promise resolves. Times are integers, milliseconds since
 * the epoch. `suite.ts` is the definition in executable form.
 */
export interface Store
  extends SandboxStore,
    TemplateStore,
    SnapshotStore,
    ApiKeyStore,
    WarmStore,
    MetricStore,
    LogStore {
  close(): Promise<void>;
}

export interface SandboxStore {
  /**
   * Writes a row in state `starting`, in one transaction with the check that fewer than `maxActive` sandboxes take a place
   * (`PLACED_STATES`) and that its snapshot is ready, and takes the warm instance of that id off its list. `limit` when the
   * limit is reached, `no_snapshot` when that is gone; then nothing is written.
   */
  reserveSandbox(sandbox: NewSandbox, options: { maxActive: number }): Promise<SandboxReservation>;
  /**
   * Moves a paused row to `resuming` with that end, in one transaction with the same check. `limit` when the limit is
   * reached, `not_paused` when the row is in another state or missing; then nothing is written.
   */
  reserveResume(id: string, options: { endAt: number; maxActive: number }): Promise<ResumeReservation>;
  findSandbox(id: string): Promise<SandboxRow | undefined>;
  /**
   * Moves a row from one of the expected states to the next; undefined, and no change, when it is in another one. What the
   * owner should know of it goes into the log of the sandbox with the change, or not at all.
   */
  changeState(id: string, change: StateChange): Promise<SandboxRow | undefined>;
  /** Sets the end of a running sandbox. With `extendOnly` an earlier end leaves the row as it is. Undefined when not running. */
  moveEnd(id: string, move: { endAt: number; extendOnly: boolean }): Promise<SandboxRow | undefined>;
  /** Rows of the wanted states by start time, ties by id. */
  listSandboxes(query: SandboxQuery): Promise<SandboxRow[]>;
  /** How many rows the same filters match in all. */
  countSandboxes(filter: SandboxFilter): Promise<number>;
  /** Forgets sandboxes that ended before that time. */
  deleteEndedSandboxes(before: number): Promise<void>;
}

/** Instances that were started ahead and belong to no sandbox yet. */
export interface WarmStore {
  /** Written before the instance is made. */
  addWarm(warm: WarmRow): Promise<void>;
  /** To be called when nothing of the instance is left; a sandbox takes its id off with `reserveSandbox`. */
  removeWarm(id: string): Promise<void>;
  /** The oldest first. */
  listWarm(): Promise<WarmRow[]>;
}

export interface TemplateStore {
  /** The template of that name, made first when there is none. */
  ensureTemplate(template: NewTemplate): Promise<TemplateRow>;
  /** By id or by name. */
  findTemplate(idOrName: string): Promise<TemplateRow | undefined>;
}

export interface SnapshotStore {
  /** Writes a row in state `making`. */
  beginSnapshot(snapshot: NewSnapshot): Promise<void>;
  /**
   * Makes a snapshot ready and lets a tag lead to it, in one transaction: of the template of that name, made first when
   * there is none, or of a new one without a name. A snapshot that the tag led to before has none any more.
   * `taken` when the name is that of another kind of template; undefined when the row is not in state `making`.
   */
  publishSnapshot(id: string, as: SnapshotPlace): Promise<TaggedSnapshot | 'taken' | undefined>;
  /** What a tag leads to. */
  findSnapshot(templateId: string, tag: string): Promise<TaggedSnapshot | undefined>;
  /** The tag that leads to the snapshot of that id. */
  findTagOf(id: string): Promise<TaggedSnapshot | undefined>;
  /** By its own id, in whatever state. */
  findSnapshotRow(id: string): Promise<SnapshotRow | undefined>;
  /** What the tags of snapshots lead to, newest first, ties by id. */
  listSnapshots(query: SnapshotQuery): Promise<TaggedSnapshot[]>;
  /** Ids of the rows in that state. */
  listSnapshotIds(state: SnapshotState): Promise<string[]>;
  /**
   * Takes a tag away, or without one the whole template with all its tags, in one transaction with the check that no
   * sandbox runs or is paused that began with it. What no tag leads to any more is `removing`.
   */
  retireSnapshots(which: { templateId: string; tag?: string }): Promise<'retired' | 'in_use' | 'not_found'>;
  /** Moves what is ready, and to which neither a tag nor a sandbox leads, to `removing`. */
  retireUnused(): Promise<void>;
  /** The row of a snapshot whose files are gone: kept as `removed` while one that came of it is there, else deleted. */
  forgetSnapshot(id: string): Promise<void>;
}

export interface ApiKeyStore {
  /** Leaves an existing key of the same hash as it is. */
  addApiKey(key: ApiKeyRow): Promise<void>;
  findApiKey(hash: string): Promise<ApiKeyRow | undefined>;
  touchApiKey(hash: string, lastUsedAt: number): Promise<void>;
}

export type SandboxState = 'starting' | 'running' | 'pausing' | 'paused' | 'resuming' | 'killing' | 'ended';

/** Every state in which something of the sandbox may still be on the host. */
export const ACTIVE_STATES: readonly SandboxState[] = [
  'starting',
  'running',
  'pausing',
  'paused',
  'resuming',
  'killing',
];

/** States of a sandbox that is there, or is about to be. */
export const ALIVE_STATES: readonly SandboxState[] = ACTIVE_STATES.filter((state) => state !== 'killing');

/** States that callers see as `paused`: it is on disk, on its way there, or not usable again yet. */
export const PAUSED_STATES: readonly SandboxState[] = ['pausing', 'paused', 'resuming'];

/** States that count against the number of sandboxes at the same time. A pause that fails goes back to `running`. */
export const PLACED_STATES: readonly SandboxState[] = ['starting', 'running', 'pausing', 'resuming'];

/** What a pause keeps: processes with their memory and files, or files alone. */
export type PauseKind = 'memory' | 'filesystem';

export type SandboxReservation = 'reserved' | 'limit' | 'no_snapshot';

export type ResumeReservation = 'reserved' | 'limit' | 'not_paused';

/**
 * Why a sandbox ended: `killed` by its owner, `expired`, `exited` by itself, `failed` to start, or `lost`: the host no
 * longer had it when the server looked.
 */
export type EndCause = 'killed' | 'expired' | 'exited' | 'failed' | 'lost';

export interface NewSandbox {
  id: string;
  templateId: string;
  /** Null when the template has none. */
  templateName: string | null;
  /** What it began with; null: the image of its template. */
  snapshotId: string | null;
  createdAt: number;
  endAt: number;
  metadata: Record<string, string>;
  envVars: Record<string, string>;
  /** Whether the agent asks for the access token. */
  secure: boolean;
  /** Null when the creator did not say. */
  allowInternet: boolean | null;
  /** What to keep at the end of the time to live; null: the sandbox is killed then. */
  autoPause: PauseKind | null;
  cpuCount: number;
  memoryMb: number;
  diskMb: number;
}

export interface SandboxRow extends NewSandbox {
  state: SandboxState;
  /** Null until it ran. */
  runId: string | null;
  /** Start of the present or, when paused, the last run; before the first the time of creation. */
  startedAt: number;
  /** When it was paused, or the pause that is under way began. Null while it runs. */
  pausedAt: number | null;
  /** What the pause keeps. Null while it runs. */
  pausedWith: PauseKind | null;
  endedAt: number | null;
  cause: EndCause | null;
}

export interface StateChange {
  from: readonly SandboxState[];
  to: SandboxState;
  /** Also required: the row's end is no later than this. */
  endAtMost?: number;
  /** Also required: the row is in this run. */
  runId?: string;
  set?: Partial<
    Pick<SandboxRow, 'runId' | 'startedAt' | 'endAt' | 'endedAt' | 'cause' | 'pausedAt' | 'pausedWith'>
  >;
}

export interface SandboxFilter {
  states: readonly SandboxState[];
  /** All pairs must match exactly. */
  metadata?: readonly (readonly [key: string, value: string])[];
  templateId?: string;
  /** Inclusive. */
  startedFrom?: number;
}

export interface SandboxQuery extends SandboxFilter {
  order: 'asc' | 'desc';
  limit?: number;
  /** Only rows behind this position, in that order. */
  after?: { startedAt: number; id: string };
}

export interface WarmRow {
  id: string;
  /** What it was made from, in a form that is equal for what is interchangeable. */
  spec: string;
  createdAt: number;
}

export interface NewTemplate {
  id: string;
  name: string;
  createdAt: number;
  cpuCount: number;
  memoryMb: number;
  diskMb: number;
}

/** An `image` of the installation has one state, tagged `default`; the tags of a `snapshot` lead to snapshots. */
export type TemplateKind = 'image' | 'snapshot';

export interface TemplateRow extends Omit<NewTemplate, 'name'> {
  kind: TemplateKind;
  name: string | null;
}

/**
 * `making` until its files are safe, then `ready`, and `removing` until they are gone. `removed` is left for the sake of
 * those that came of it.
 */
export type SnapshotState = 'making' | 'ready' | 'removing' | 'removed';

export interface NewSnapshot {
  /** Also its id in the runtime. */
  id: string;
  sandboxId: string;
  /** The snapshot that its sandbox had begun with. */
  parentId: string | null;
  kind: PauseKind;
  createdAt: number;
  cpuCount: number;
  memoryMb: number;
  diskMb: number;
}

export interface SnapshotRow extends NewSnapshot {
  state: SnapshotState;
  /** Null until it is ready. */
  templateId: string | null;
}

/** Where a snapshot is found. */
export interface SnapshotPlace {
  /** Of the template, if one has to be made. */
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
  tag?: string;
  limit?: number;
  /** Only rows behind this position. */
  after?: { createdAt: number; id: string };
}

export interface ApiKeyRow {
  /** SHA-256 of the key, hex. */
  hash: string;
  /** What may be shown of the key. */
  mask: string;
  name: string;
  createdAt: number;
  lastUsedAt: number | null;
}
