/**
 * For a private registry: user name and password, an access key for Amazon ECR, or the key of a service account for Google Artifact
 * Registry, as JSON. They are sent with the build, and never stored, logged or returned.
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
   * named alone, as a Dockerfile does.
   */
  layout: 'paths' | 'flat';
  /** Copied as in a Dockerfile; by `add`, archives are unpacked. */
  dockerfile?: 'copy' | 'add';
  /** What is copied, as a file with the name of `src`, in place of one of the context. */
  content?: string;
}

/** Copies files of a stage. @internal */
export interface StageCopyStep {
  type: 'COPY';
  /** Source, destination, owner and mode; the last two may be empty. */
  args: string[];
  fromStage: number;
}

/** @internal */
export type TemplateStep = (
  | CopyStep
  | StageCopyStep
  | { type: 'RUN'; args: string[]; shell?: readonly string[] }
  | { type: 'USER'; args: string[]; dockerfile?: 'user' }
  | { type: 'ENV' | 'ARG' | 'WORKDIR'; args: string[] }
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
  /** As words, in place of `startCommand` and `readyCommand`. */
  entrypoint?: readonly string[] | undefined;
  command?: readonly string[] | undefined;
  healthcheck?: readonly string[] | undefined;
  /** The TCP ports on which the start command listens. */
  exposedPorts?: readonly number[] | undefined;
  /** A file with rules for the context, which replaces `.dockerignore` if it exists. */
  ignoreFile?: string | undefined;
}

/** A step as the service reads it, without hashes of files. */
export interface TemplateStepJson {
  force?: true;
  type: 'COPY' | 'ADD' | 'RUN' | 'ENV' | 'ARG' | 'WORKDIR' | 'USER';
  args: string[];
  dockerfile?: boolean;
  fromStage?: number;
  shell?: string[];
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
    ...('dockerfile' in step && { dockerfile: true }),
    ...('shell' in step && { shell: [...(step.shell ?? [])] }),
  };
}

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
  const { startCommand, readyCommand, entrypoint, command, healthcheck, exposedPorts } = definition;
  return {
    ...(startCommand !== undefined && { startCmd: startCommand }),
    ...(readyCommand !== undefined && { readyCmd: readyCommand }),
    ...(entrypoint && { entrypoint: [...entrypoint] }),
    ...(command && { command: [...command] }),
    ...(healthcheck && { healthcheck: [...healthcheck] }),
    ...(exposedPorts && { exposedPorts: [...exposedPorts] }),
  };
}
