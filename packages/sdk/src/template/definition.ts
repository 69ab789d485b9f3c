/** User name and password for a registry. They are sent with the build, and never stored, logged or returned. */
export interface RegistryCredentials {
  username: string;
  password: string;
}

/** What a build begins with. */
export type TemplateSource =
  | { kind: 'image'; image: string; credentials: RegistryCredentials | undefined }
  | { kind: 'template'; template: string };

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
}

/** @internal */
export type TemplateStep = (
  | CopyStep
  | { type: 'RUN' | 'ENV' | 'ARG' | 'WORKDIR' | 'USER'; args: string[] }
) & {
  /** The line of the Dockerfile that it comes from, from 1. */
  line?: number;
};

/** @internal */
export interface TemplateDefinition {
  source: TemplateSource;
  steps: readonly TemplateStep[];
  startCommand: string | undefined;
  readyCommand: string | undefined;
  /** How many of the first steps the cache may answer. Default: all. */
  cacheableSteps?: number | undefined;
  /** A file with rules for the context, which replaces `.dockerignore` if it exists. */
  ignoreFile?: string | undefined;
}

/** The start of a build as the service reads it, without credentials and hashes of files. */
export interface TemplateJson {
  fromImage?: string;
  fromTemplate?: string;
  steps: { type: string; args: string[]; force?: true }[];
  startCmd?: string;
  readyCmd?: string;
}

/** @internal */
export const toStepArgs = (step: TemplateStep): string[] =>
  step.type === 'COPY' ? [step.src, step.dest, step.user, step.mode] : step.args;

/** @internal A step that is forced forces all later ones. */
export const toForce = (index: number, cacheableSteps: number | undefined): { force?: true } =>
  index === cacheableSteps ? { force: true } : {};

/** @internal */
export function toJson({
  source,
  steps,
  startCommand,
  readyCommand,
  cacheableSteps,
}: TemplateDefinition): TemplateJson {
  return {
    ...(source.kind === 'image' ? { fromImage: source.image } : { fromTemplate: source.template }),
    steps: steps.map((step, index) => ({
      type: step.type,
      args: toStepArgs(step),
      ...toForce(index, cacheableSteps),
    })),
    ...(startCommand === undefined ? {} : { startCmd: startCommand }),
    ...(readyCommand === undefined ? {} : { readyCmd: readyCommand }),
  };
}
