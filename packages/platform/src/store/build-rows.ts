import type { IsolationLevel } from '@skerry/contract/isolation';

export type BuildState = 'waiting' | 'building' | 'ready' | 'error';
export type BuildLogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface NewBuild {
  /** A UUID without its dashes. */
  id: string;
  /** That of its template. */
  project: string;
  createdAt: number;
  cpuCount: number;
  memoryMb: number;
  diskMb: number;
  /** What the start command has to leave free of that disk. */
  minFreeDiskMb: number;
  /** The level that its sandboxes have at least, as far as it is known; null: it demands none. */
  isolation: IsolationLevel | null;
  /** The tags that will point to it. */
  tags: readonly string[];
}

/** How the processes of a template run, as the config of an image says it. */
export interface RunConfig {
  /** A name or a number, optionally with `:` and a group. Empty: nothing names one. */
  user: string;
  /** Absolute. Empty: nothing names one. */
  workdir: string;
  env: Record<string, string>;
}

export const emptyRunConfig: RunConfig = { user: '', workdir: '', env: {} };

/** What a template is beside its files. */
export interface BuildConfig {
  /** The environment that its image sets, which sandboxes have. */
  env: Record<string, string>;
  /** The settings after the last step of the build: builds on top of it start with them. */
  runConfig: RunConfig;
  start: StartCommands | null;
}

export interface BuildRow extends NewBuild, BuildConfig {
  templateId: string;
  state: BuildState;
  startedAt: number | null;
  finishedAt: number | null;
  /** The digest of its image. Null until it is ready, and again when its image may be removed. */
  image: string | null;
  imageBytes: number | null;
  /** The snapshot with memory in which its start command runs; null: it is started in each sandbox. */
  checkpointId: string | null;
  reason: BuildReason | null;
  /** A hash of the request that started it; null: it waits, or no request did. */
  request: string | null;
}

export interface BuildReason {
  message: string;
  /** `base`, `finalize`, or the number of the step from 1. */
  step?: string;
}

export interface BuildResult extends BuildConfig, Pick<NewBuild, 'isolation'> {
  finishedAt: number;
  image: string;
  imageBytes: number;
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
  /** The TCP ports on which the start command listens when it is ready; only without `readyCmd`. */
  exposedPorts?: readonly number[];
  /** A name or a number, optionally with `:` and a group. */
  user: string;
  /** Absolute, or `~` for the home of the user. */
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
