import { readFileSync } from 'node:fs';
import type { TemplateDefinition } from '../definition.ts';
import { TemplateBuilder } from '../template.ts';
import { parseDockerfile } from './parse-dockerfile.ts';

export interface DockerfileOptions {
  /** Values for the variables that ARG declares, and for the proxies that need no ARG, such as `http_proxy`. */
  buildArgs?: Readonly<Record<string, string>> | undefined;
  /** The stage that becomes the template, by its name or its number from 0. Default: the last. */
  target?: string | undefined;
  /**
   * What the template is built for, `linux/amd64` or `linux/arm64`, as the file may ask with `FROM --platform` and `ARG TARGETARCH`. A service
   * of another platform refuses the build. Default: the platform of this machine.
   */
  platform?: string | undefined;
  /**
   * Whether the build fetches the URLs that `ADD` names, from this machine: a Dockerfile that you did not write can then read what this machine can reach.
   * Default: false, and such an ADD throws.
   */
  fetchUrls?: boolean | undefined;
  /**
   * Runs the steps of all stages in every build, also where the service has their results in its cache. `skipCache()` of the
   * result does that for the steps that follow the Dockerfile. Default: false.
   */
  skipCache?: boolean | undefined;
}

/** A text has several lines, or begins with its first instruction; anything else is a path. */
const isText = (text: string): boolean => /[\r\n]/.test(text) || /^\s*(?:FROM|ARG)\s/i.test(text);

/**
 * The template that a Dockerfile describes, which may get further steps. Stages that it does not need are not built. Rules of a file beside it with
 * `.dockerignore` at the end of its name replace those of `.dockerignore`. Throws `DockerfileError`, with the line, for what
 * a template cannot express, and the error of the file system for a file that cannot be read.
 */
export function fromDockerfile(textOrPath: string, options: DockerfileOptions = {}): TemplateBuilder {
  if (isText(textOrPath)) return new TemplateBuilder(parse(textOrPath, options));
  const definition = parse(readFileSync(textOrPath, 'utf8'), options);
  return new TemplateBuilder({ ...definition, ignoreFile: `${textOrPath}.dockerignore` });
}

const parse = (text: string, { skipCache = false, ...options }: DockerfileOptions): TemplateDefinition => {
  const definition = parseDockerfile(text, options);
  if (!skipCache) return definition;
  const skip = { cacheableSteps: 0 };
  return { ...definition, ...skip, stages: definition.stages?.map((stage) => ({ ...stage, ...skip })) };
};
