/**
 * Credentials of a private registry: user name and password, an access key for Amazon ECR, or the key of a service account for Google
 * Artifact Registry, as JSON. They are sent with the build, and never stored, logged or returned.
 */
export type RegistryCredentials =
  | { username: string; password: string }
  | { awsAccessKeyId: string; awsSecretAccessKey: string; awsRegion: string }
  | { serviceAccountJson: string };

/** What a build begins with. */
export type TemplateSource =
  | { kind: 'image'; image: string; credentials: RegistryCredentials | undefined }
  | { kind: 'template'; template: string };

/** @internal */
export type StageSource = TemplateSource | { kind: 'stage'; index: number };

/** @internal */
export interface CopyStep {
  type: 'COPY';
  /** Below the context, with `/`. May have `*`, `?`, `[…]` and, in the layout `paths`, `**`. */
  src: string;
  dest: string;
  user: string;
  mode: string;
  /**
   * Where matches of a pattern go: `paths` keeps their paths below its fixed part; `flat` copies each match as if it were
   * named alone, as a Dockerfile does; `parents` keeps the whole path of each match, or what stands behind `/./` in `src`.
   */
  layout: 'paths' | 'flat' | 'parents';
  /** Patterns, as in `.dockerignore`, of what is left out below each source. */
  excludes?: readonly string[];
  /** The file `src` is the content of a URL and none of the context. */
  remote?: RemoteFile;
  /** Copied as in a Dockerfile; by `add`, archives are unpacked. */
  dockerfile?: 'copy' | 'add';
}

/** @internal */
export interface RemoteFile {
  url: string;
  /** `sha256:` with hex digits. */
  checksum?: string;
}

/** Writes a file. @internal */
export interface ContentStep {
  type: 'COPY';
  /** The name of the file, the destination, owner and mode; the last two may be empty. */
  args: string[];
  /** What is in it, as a word of a Dockerfile. */
  content: string;
}

/** Copies files of a stage. @internal */
export interface StageCopyStep {
  type: 'COPY';
  /** Source, destination, owner and mode; the last two may be empty. */
  args: string[];
  fromStage: number;
}

/** @internal */
export interface MountDefinition extends MountJson {
  /** A file or folder of the context, in place of `source`. */
  src?: string;
}

/** @internal */
export type TemplateStep = (
  | CopyStep
  | StageCopyStep
  | ContentStep
  | { type: 'RUN'; args: string[]; shell?: readonly string[]; mounts?: readonly MountDefinition[] }
  | { type: 'USER' | 'ENV' | 'ARG' | 'WORKDIR' | 'VOLUME'; args: string[]; dockerfile?: true }
) & {
  /** The line of the Dockerfile that it comes from, from 1. */
  line?: number;
};

/** @internal */
export interface StageDefinition {
  source: StageSource;
  steps: readonly TemplateStep[];
  /** Begins as the user and in the folder of the image. */
  imageConfig?: boolean | undefined;
  /** How many of the first steps the cache may answer. Default: all. */
  cacheableSteps?: number | undefined;
}

/** @internal */
export interface TemplateDefinition extends StageDefinition {
  /** What is built before, each from what stands before it. */
  stages?: readonly StageDefinition[] | undefined;
  startCommand: string | undefined;
  readyCommand: string | undefined;
  /** Words that replace `startCommand` and `readyCommand`. */
  entrypoint?: readonly string[] | undefined;
  command?: readonly string[] | undefined;
  healthcheck?: readonly string[] | undefined;
  /** The TCP ports on which the start command listens. */
  exposedPorts?: readonly number[] | undefined;
  /** What the template has to be built for, as `linux/amd64`, where its steps depend on that. */
  platform?: string | undefined;
  /** A file with rules for the context, which replaces `.dockerignore` if it exists. */
  ignoreFile?: string | undefined;
}

/** A step as the service reads it, without hashes of files. */
export interface TemplateStepJson {
  force?: true;
  type: 'COPY' | 'ADD' | 'RUN' | 'ENV' | 'ARG' | 'WORKDIR' | 'USER' | 'VOLUME';
  args: string[];
  dockerfile?: boolean;
  fromStage?: number;
  content?: string;
  shell?: string[];
  mounts?: MountJson[];
}

/**
 * What a RUN has in place of the files at `target`, which are there again after it, as the service reads it, without hashes of files.
 * Strings are words of a Dockerfile, but for a `source` in the context.
 */
export interface MountJson {
  type: 'bind' | 'cache' | 'tmpfs';
  target: string;
  fromStage?: number;
  /** A path in the stage or the context. */
  source?: string;
  /** The name of a cache. Default: its target. */
  id?: string;
  /** Whether a cache is not stored after the command. */
  readOnly?: true;
  /** Whether commands with this cache wait for each other. */
  locked?: true;
  /** The mode of a new cache. */
  mode?: number;
  uid?: number;
  gid?: number;
}

/** What a build begins with and its steps, without credentials and hashes of files. */
export interface TemplateStageJson {
  fromImage?: string;
  fromTemplate?: string;
  fromStage?: number;
  imageConfig?: boolean;
  steps: TemplateStepJson[];
}

/** The start of a build as the service reads it, without credentials and hashes of files. */
export interface TemplateJson extends TemplateStageJson {
  stages?: TemplateStageJson[];
  platform?: string;
  startCmd?: string;
  readyCmd?: string;
  entrypoint?: string[];
  command?: string[];
  healthcheck?: string[];
  exposedPorts?: number[];
}

/** @internal */
export function toStepJson(step: TemplateStep): TemplateStepJson {
  if ('src' in step) {
    const { src, dest, user, mode, dockerfile } = step;
    return { type: 'COPY', args: [src, dest, user, mode], ...(dockerfile && { dockerfile: true }) };
  }
  const { type, args } = step;
  return {
    type,
    args,
    ...('fromStage' in step && { fromStage: step.fromStage, dockerfile: true }),
    ...('content' in step && { content: step.content, dockerfile: true }),
    ...('dockerfile' in step && { dockerfile: true }),
    ...('shell' in step && { shell: [...(step.shell ?? [])] }),
    ...('mounts' in step && { mounts: (step.mounts ?? []).map(toMountJson) }),
  };
}

/** @internal */
export const toMountJson = ({ src, ...mount }: MountDefinition): MountJson => ({
  ...mount,
  ...(src !== undefined && { source: src }),
});

/** @internal A step that is forced forces all later ones. */
export const toForce = (index: number, cacheableSteps: number | undefined): { force?: true } =>
  index === cacheableSteps ? { force: true } : {};

const toStageJson = ({ source, steps, imageConfig, cacheableSteps }: StageDefinition): TemplateStageJson => ({
  ...toSourceJson(source),
  ...(imageConfig && { imageConfig }),
  steps: steps.map((step, index) => ({ ...toStepJson(step), ...toForce(index, cacheableSteps) })),
});

const toSourceJson = (source: StageSource) => {
  if (source.kind === 'image') return { fromImage: source.image };
  return source.kind === 'template' ? { fromTemplate: source.template } : { fromStage: source.index };
};

/** @internal */
export function toJson(definition: TemplateDefinition): TemplateJson {
  const { stages = [] } = definition;
  return {
    ...(stages.length > 0 && { stages: stages.map(toStageJson) }),
    ...toStageJson(definition),
    ...toStartJson(definition),
  };
}

/** @internal */
export function toStartJson(definition: TemplateDefinition) {
  const { platform, startCommand, readyCommand, entrypoint, command, healthcheck, exposedPorts } = definition;
  return {
    ...(platform !== undefined && { platform }),
    ...(startCommand !== undefined && { startCmd: startCommand }),
    ...(readyCommand !== undefined && { readyCmd: readyCommand }),
    ...(entrypoint && { entrypoint: [...entrypoint] }),
    ...(command && { command: [...command] }),
    ...(healthcheck && { healthcheck: [...healthcheck] }),
    ...(exposedPorts && { exposedPorts: [...exposedPorts] }),
  };
}
