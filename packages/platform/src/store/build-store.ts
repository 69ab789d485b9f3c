import type { LogPage } from './read-log-page.ts';

/** Builds of templates. */
export interface BuildStore {
  /**
   * Writes a build in state `waiting` of the template of that name, created first when it is missing. Waiting builds of
   * it fail with that reason. `taken` when the name is that of another kind of template, and `limit` when as many builds of other templates
   * as `maxUnfinished` have not ended; then nothing is written.
   */
  addBuild(
    build: NewBuild,
    as: { templateId: string; name: string; superseded: string; maxUnfinished?: number },
  ): Promise<BuildRow | 'taken' | 'limit'>;
  /** Moves a waiting build to `building`. Undefined when it is in another state or is missing. */
  startBuild(id: string, startedAt: number): Promise<BuildRow | undefined>;
  /**
   * Makes a build that is `building` ready, points its tags to it, except those that were assigned after its
   * registration, makes its checkpoint ready, and retires the images that nothing needs any more.
   * Undefined when it is in another state.
   */
  finishBuild(id: string, result: BuildResult): Promise<BuildRow | undefined>;
  /** Ends a build that is waiting or building. Undefined when it is in another state. */
  failBuild(id: string, failure: BuildFailure): Promise<BuildRow | undefined>;
  findBuild(id: string): Promise<BuildRow | undefined>;
  /** Of a template, newest first, ties by id; only those after that position. */
  listBuilds(
    templateId: string,
    page: { limit: number; after?: { createdAt: number; id: string } },
  ): Promise<BuildRow[]>;
  listBuildIds(state: BuildState, options?: { createdBefore: number }): Promise<string[]>;
  /** Does nothing for a build that was deleted. */
  addBuildLog(id: string, entries: readonly BuildLogRow[]): Promise<void>;
  /** In the order of their writing. */
  listBuildLog(
    id: string,
    query: BuildLogQuery & { /** How many to omit of those that match. */ offset: number; limit: number },
  ): Promise<BuildLogRow[]>;
  /** By time, those of one millisecond in the order of their writing, or all in the opposite order. */
  pageBuildLog(id: string, query: BuildLogQuery & LogPage): Promise<BuildLogRow[]>;
}

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
