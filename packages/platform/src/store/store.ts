/**
 * What must survive a restart. Every change is on disk when its promise resolves. Times are integers, milliseconds since
 * the epoch. `suite.ts` is the definition in executable form.
 */
export interface Store extends SandboxStore, TemplateStore, ApiKeyStore, WarmStore, MetricStore {
  close(): Promise<void>;
}

export interface SandboxStore {
  /**
   * Writes a row in state `starting`, in one transaction with the check that fewer than `maxActive` sandboxes take a place
   * (`PLACED_STATES`), and takes the warm instance of that id off its list. False when the limit is reached; then nothing
   * is written.
   */
  reserveSandbox(sandbox: NewSandbox, options: { maxActive: number }): Promise<boolean>;
  /**
   * Moves a paused row to `resuming` with that end, in one transaction with the same check. `limit` when the limit is
   * reached, `not_paused` when the row is in another state or missing; then nothing is written.
   */
  reserveResume(id: string, options: { endAt: number; maxActive: number }): Promise<ResumeReservation>;
  findSandbox(id: string): Promise<SandboxRow | undefined>;
  /** Moves a row from one of the expected states to the next; undefined, and no change, when it is in another one. */
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

export interface ApiKeyStore {
  /** Leaves an existing key of the same hash as it is. */
  addApiKey(key: ApiKeyRow): Promise<void>;
  findApiKey(hash: string): Promise<ApiKeyRow | undefined>;
  touchApiKey(hash: string, lastUsedAt: number): Promise<void>;
}

export interface MetricStore {
  /** Writes samples of sandboxes whose rows exist. One of the same sandbox and moment is there already and stays. */
  addMetrics(rows: readonly MetricRow[]): Promise<void>;
  /** Samples between two moments, both included, that are of this grain or a coarser one, oldest first. */
  listMetrics(query: { sandboxId: string; from: number; to: number; grain: number }): Promise<MetricRow[]>;
  findLatestMetric(sandboxId: string): Promise<MetricRow | undefined>;
  /** Forgets the samples of a grain that are older than that. */
  deleteMetrics(limits: readonly { grain: number; before: number }[]): Promise<void>;
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

/** States that callers see as `paused`: it is on disk, on its way there, or not usable again yet. */
export const PAUSED_STATES: readonly SandboxState[] = ['pausing', 'paused', 'resuming'];

/** States that count against the number of sandboxes at the same time. A pause that fails goes back to `running`. */
export const PLACED_STATES: readonly SandboxState[] = ['starting', 'running', 'pausing', 'resuming'];

/** What a pause keeps: processes with their memory and files, or files alone. */
export type PauseKind = 'memory' | 'filesystem';

export type ResumeReservation = 'reserved' | 'limit' | 'not_paused';

/**
 * Why a sandbox ended: `killed` by its owner, `expired`, `exited` by itself, `failed` to start, or `lost`: the host no
 * longer had it when the server looked.
 */
export type EndCause = 'killed' | 'expired' | 'exited' | 'failed' | 'lost';

export interface NewSandbox {
  id: string;
  templateId: string;
  templateName: string;
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

export type TemplateRow = NewTemplate;

/** What one sandbox used at one moment. */
export interface MetricRow {
  sandboxId: string;
  at: number;
  /** The first sample of a longer stretch of time is of a coarser grain, and kept for longer. */
  grain: number;
  /** Since the sample before; 100 when all its cores were busy. */
  cpuUsedPct: number;
  memoryBytes: number;
  cacheBytes: number;
  diskBytes: number;
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
