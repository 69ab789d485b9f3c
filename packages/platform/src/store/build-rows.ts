export type BuildState = 'waiting' | 'building' | 'ready' | 'error';
export type BuildLogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface NewBuild {
  /** A UUID without its dashes. */
  id: string;
  createdAt: number;
  cpuCount: number;
  memoryMb: number;
  diskMb: number;
  /** What the start command has to leave free of that disk. */
  minFreeDiskMb: number;
  /** The tags that will point to it. */
  tags: readonly string[];
}

export interface BuildRow extends NewBuild {
  templateId: string;
  state: BuildState;
  startedAt: number | null;
  finishedAt: number | null;
  /** The digest of its image. Null until it is ready, and again when its image may be removed. */
  image: string | null;
  imageBytes: number | null;
  /** The environment that its image sets. */
  env: Record<string, string>;
  start: StartCommands | null;
  /** The snapshot with memory in which its start command runs; null: it is started in each sandbox. */
  checkpointId: string | null;
  reason: BuildReason | null;
}

export interface BuildReason {
  message: string;
  /** `base`, `finalize`, or the number of the step from 1. */
  step?: string;
}

export interface BuildResult {
  finishedAt: number;
  image: string;
  imageBytes: number;
  env: Record<string, string>;
  start: StartCommands | null;
  /** A snapshot in state `making`, which becomes ready too. */
  checkpointId: string | null;
}

/** What runs in the sandboxes of a template from their beginning, and how it runs. */
export interface StartCommands {
  /** Null: nothing does, and `readyCmd` is only for builds on this one. */
  startCmd: string | null;
  /** Succeeds when the start command serves; null: some time has to pass instead. */
  readyCmd: string | null;
  /** What is run, in place of a login shell with the text. */
  startWords?: readonly string[];
  readyWords?: readonly string[];
  /** Without `readyCmd`: the TCP ports on which the start command listens when it is ready. */
  exposedPorts?: readonly number[];
  /** By name or number, optionally with `:` and a group. */
  user: string;
  workdir: string;
  env: Record<string, string>;
}

export interface BuildFailure {
  finishedAt: number;
  reason: BuildReason;
}

export interface BuildLogRow {
  at: number;
  level: BuildLogLevel;
  message: string;
  step: string | null;
}

export interface BuildLogQuery {
  levels: readonly BuildLogLevel[];
}
