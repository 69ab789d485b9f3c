import { toSandboxError } from '../errors.ts';
import {
  type RegistryCredentials,
  type TemplateDefinition,
  type TemplateJson,
  type TemplateSource,
  type TemplateStep,
  toJson,
} from './definition.ts';

export interface RunStepOptions {
  /** Who runs the command. Default: the user of the latest `user`, at first `user`. */
  user?: string | undefined;
}

export interface CopyOptions {
  /** Who owns the files: `name`, `uid`, `name:group` or `uid:gid`. Default: the user of the latest `user`. */
  user?: string | undefined;
  /** Permission bits of all files, as a number or as octal text such as `0755`. Default: those of the files. */
  mode?: number | string | undefined;
}

export interface StartOptions {
  /** A command that is repeated until it succeeds, such as those of `waitForPort` or `waitForUrl`. */
  ready?: string | undefined;
}

/** The steps of a template. Immutable: each method returns a new one, so a template can be the start of several. */
export class TemplateBuilder {
  /** @internal */
  readonly definition: TemplateDefinition;

  /** @internal */
  constructor(definition: TemplateDefinition) {
    this.definition = definition;
  }

  /** Runs commands in a login shell of bash, each as a step of its own. A status other than 0 fails the build. */
  run(commands: string | readonly string[], { user }: RunStepOptions = {}): TemplateBuilder {
    const steps = (typeof commands === 'string' ? [commands] : commands).map((command) => ({
      type: 'RUN' as const,
      args: user === undefined ? [requireText('command', command)] : [requireText('command', command), user],
    }));
    return this.#with({ steps: [...this.definition.steps, ...steps] });
  }

  /**
   * Copies files of the context folder of the build. The content of a folder goes into `dest`; a file becomes `dest`, or goes
   * into it when it ends in `/`. `src` is a path below the context, or a pattern with `*`, `?`, `[…]` and `**`, whose matches keep
   * their paths below its fixed part. A relative `dest` is below the working folder.
   */
  copy(src: string | readonly string[], dest: string, { user, mode }: CopyOptions = {}): TemplateBuilder {
    const steps = (typeof src === 'string' ? [src] : src).map((one) => ({
      type: 'COPY' as const,
      src: requireText('src', one),
      dest: requireText('dest', dest),
      user: user ?? '',
      mode: toMode(mode),
      layout: 'paths' as const,
    }));
    return this.#with({ steps: [...this.definition.steps, ...steps] });
  }

  /**
   * Sets variables for later steps, the start command and builds on the template. `$NAME` and `${NAME}` in a value are replaced. Sandboxes do
   * not get them.
   */
  env(variables: Record<string, string>): TemplateBuilder {
    const args = Object.entries(variables).flat();
    return args.length === 0 ? this : this.#add({ type: 'ENV', args });
  }

  /** Makes a folder if it is missing, in which later steps and commands of sandboxes run. */
  workdir(path: string): TemplateBuilder {
    return this.#add({ type: 'WORKDIR', args: [requireText('path', path)] });
  }

  /** Runs later steps and commands of sandboxes as that user, which is created if missing. */
  user(name: string): TemplateBuilder {
    return this.#add({ type: 'USER', args: [requireText('user', name)] });
  }

  /** Runs all steps from here on in every build, also where the service has their results in its cache. */
  skipCache(): TemplateBuilder {
    const { steps, cacheableSteps = steps.length } = this.definition;
    return this.#with({ cacheableSteps });
  }

  /**
   * Starts a command after all steps. Sandboxes begin with it running. Without `ready` the build waits 20 seconds. A later call
   * replaces both.
   */
  start(command: string, { ready }: StartOptions = {}): TemplateBuilder {
    const parts = {
      entrypoint: undefined,
      command: undefined,
      healthcheck: undefined,
      exposedPorts: undefined,
    };
    return this.#with({ ...parts, startCommand: requireText('command', command), readyCommand: ready });
  }

  /** What a build sends, without credentials and hashes of files. */
  toJSON(): TemplateJson {
    return toJson(this.definition);
  }

  #add(step: TemplateStep): TemplateBuilder {
    return this.#with({ steps: [...this.definition.steps, step] });
  }

  #with(change: Partial<TemplateDefinition>): TemplateBuilder {
    return new TemplateBuilder({ ...this.definition, ...change });
  }
}

/** A template that still needs what it begins with. */
export interface TemplateStart {
  /** Begins with an image of an OCI registry, such as `python:3.13-slim`. */
  fromImage(image: string, options?: { credentials?: RegistryCredentials | undefined }): TemplateBuilder;
  /** Begins with a template of the service, such as `base` or `web:v2`, or with the files of a snapshot, by its id or name. */
  fromTemplate(name: string): TemplateBuilder;
}

/** @internal */
export const startTemplate = (): TemplateStart => ({
  fromImage: (image, { credentials } = {}) =>
    fromSource({ kind: 'image', image: requireText('image', image), credentials }),
  fromTemplate: (name) => fromSource({ kind: 'template', template: requireText('name', name) }),
});

const fromSource = (source: TemplateSource): TemplateBuilder =>
  new TemplateBuilder({ source, steps: [], startCommand: undefined, readyCommand: undefined });

function requireText(field: string, text: string): string {
  if (text !== '') return text;
  throw toSandboxError('invalid_argument', `${field} must not be empty`);
}

function toMode(mode: number | string | undefined): string {
  if (mode === undefined) return '';
  const text = typeof mode === 'number' ? `0${mode.toString(8)}` : mode;
  if (/^0?[0-7]{3,4}$/.test(text)) return text;
  throw toSandboxError('invalid_argument', `mode must be octal, such as 0755, got "${text}"`);
}
