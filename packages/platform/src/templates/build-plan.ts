import { type IsolationLevel, strongestOf } from '@skerry/contract/isolation';
import type { RegistryCredentials } from '../images/template-images.ts';
import type { BuildRow } from '../store/build-rows.ts';
import type { SnapshotRow } from '../store/rows.ts';

/** The base and the steps of one build, validated. */
export interface BuildPlan<Source = BuildSource> extends StagePlan<Source> {
  /** What is built before, each from what stands before it. */
  stages: readonly StagePlan<Source>[];
  /** If undefined, the start command of the base is used, if it has one. */
  startCmd: string | undefined;
  readyCmd: string | undefined;
  /** The start command as words, in two parts; without both that of the image, if `usesConfig`. */
  entrypoint: readonly string[] | undefined;
  command: readonly string[] | undefined;
  /** The check as words, in place of `readyCmd`; empty: none, also when the image has one. */
  healthcheck: readonly string[] | undefined;
  /** The TCP ports on which the start command listens, beside those of the image; without a check it is ready then. */
  exposedPorts: readonly number[];
}

/** A build that names no start command. */
export const noStartCommand = {
  startCmd: undefined,
  readyCmd: undefined,
  entrypoint: undefined,
  command: undefined,
  healthcheck: undefined,
  exposedPorts: [],
} as const satisfies Partial<BuildPlan>;

/** One stage of a build. */
export interface StagePlan<Source = BuildSource> {
  source: Source;
  steps: readonly BuildStep[];
  /** How many steps the stages before it have. */
  stepsBefore: number;
  /**
   * The cache may supply at most this many of the first steps; forced steps are not among them. Null: the cache is not
   * used, and the base is pulled again.
   */
  cacheableSteps: number | null;
  /** The number of the first step of the build, of this stage or one before it, that has to run; those after it do, too. */
  forcedStep: number | undefined;
  /** Whether it begins as the user and in the folder of the image, by default as root in `/`. */
  usesConfig: boolean;
}

/** `requestedAs` is the name of an image that means something else on this server. */
export type BuildSource =
  | {
      kind: 'image';
      reference: string;
      credentials: RegistryCredentials | undefined;
      requestedAs?: string | undefined;
    }
  /** An archive that a client has uploaded; `release` is called when it is needed no more. */
  | { kind: 'archive'; path: string; image: string | undefined; release: () => void }
  /** Null: the image of the installation. */
  | { kind: 'template'; name: string; build: BuildRow | null; requestedAs?: string | undefined }
  /** The files of a snapshot, without its processes. */
  | { kind: 'snapshot'; name: string; snapshot: SnapshotRow; requestedAs?: string | undefined }
  | { kind: 'stage'; index: number };

export type BuildStep =
  /** A command after the words of the shell, of that user or of the current one. */
  | {
      type: 'RUN';
      command: string;
      user: string | undefined;
      shell: readonly string[];
      mounts: readonly MountStep[];
    }
  /** `ARG`: for the steps alone, and hidden by `ENV`. */
  | ({ type: 'ENV' | 'ARG'; variables: readonly (readonly [name: string, value: string])[] } & StepWords)
  | ({ type: 'WORKDIR'; path: string } & StepWords)
  | { type: 'VOLUME'; paths: readonly string[]; isDockerfile: true }
  /** `user` or `user:group`, by name or number, unless the user is created. */
  | ({ type: 'USER'; name: string; isCreated: boolean } & StepWords)
  | CopyStep;

/** Whether strings of a step are words of a Dockerfile; otherwise `$NAME` and `${NAME}` alone mean something. */
export interface StepWords {
  isDockerfile: boolean;
}

/** Copies uploaded files, those of a stage, or a string. */
export interface CopyStep extends StepWords {
  type: 'COPY';
  /** The path as the owner of the build wrote it. */
  source: string;
  from: UploadedFiles | StageSource | { kind: 'content'; content: string };
  destination: string;
  /** `user` or `user:group`; the default is the current user, or with `keepsOwners` the owner of each file. */
  owner: string | undefined;
  /** Octal, or symbolic as chmod(1) reads it. */
  mode: string | undefined;
  keepsOwners: boolean;
  /** Whether folders that exist get owner and mode of those that are copied. */
  overwritesFolders: boolean;
}

export interface StageSource {
  kind: 'stage';
  index: number;
}

/** What a command has in place of the files at a path, all strings as words of a Dockerfile. */
export type MountStep = { target: string } & (
  | { type: 'tmpfs' }
  | { type: 'bind'; from: UploadedFiles | (StageSource & { source: string }) }
  | {
      type: 'cache';
      /** The name of the cache within the template. Default: the path. */
      id: string | undefined;
      readOnly: boolean;
      locked: boolean;
      mode: number;
      uid: number;
      gid: number;
      /** What a new cache has. */
      from: (StageSource & { source: string }) | undefined;
    }
);

export interface UploadedFiles {
  kind: 'upload';
  /** The beginning of the source without a pattern, and without `.` and `..`; empty for the folder of everything. */
  root: string;
  isPattern: boolean;
  /** The hash under which the client uploaded the archive. */
  filesHash: string;
}

/** The numbers of the stages that a step copies from. */
export const listStages = (step: BuildStep): number[] =>
  listOrigins(step).flatMap((from) => (from.kind === 'stage' ? [from.index] : []));

/** What a step copies of the files that a client has uploaded. */
export const listUploads = (step: BuildStep): UploadedFiles[] =>
  listOrigins(step).flatMap((from) => (from.kind === 'upload' ? [from] : []));

const listOrigins = (step: BuildStep): CopyStep['from'][] => {
  if (step.type === 'COPY') return [step.from];
  if (step.type !== 'RUN') return [];
  return step.mounts.flatMap((mount) => (mount.type === 'tmpfs' || !mount.from ? [] : [mount.from]));
};

/** Returns the level that sandboxes with the files of a source have at least; null: the source demands none. */
export const levelOfSource = (source: BuildSource): IsolationLevel | null => {
  if (source.kind === 'snapshot') return source.snapshot.isolation;
  return source.kind === 'template' ? (source.build?.isolation ?? null) : null;
};

/** Returns the level that sandboxes of a build have at least: the strongest of its own and of those of its sources; null: there is none. */
export const levelOfBuild = (
  { isolation }: Pick<BuildRow, 'isolation'>,
  plan: BuildPlan,
): IsolationLevel | null => {
  const levels = [isolation, ...[...plan.stages, plan].map(({ source }) => levelOfSource(source))];
  const given = levels.filter((level) => level !== null);
  return given.length === 0 ? null : strongestOf(given);
};
