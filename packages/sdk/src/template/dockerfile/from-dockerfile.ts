import { readFileSync } from 'node:fs';
import { TemplateBuilder } from '../template.ts';
import { parseDockerfile } from './parse-dockerfile.ts';

export interface DockerfileOptions {
  /** Values for the variables that ARG declares. */
  buildArgs?: Readonly<Record<string, string>> | undefined;
  /** The stage that becomes the template, by its name or its number from 0. Default: the last. */
  target?: string | undefined;
}

/** A text has several lines, or begins with its first instruction; anything else is a path. */
const isText = (text: string): boolean => /[\r\n]/.test(text) || /^\s*(?:FROM|ARG)\s/i.test(text);

/**
 * The template that a Dockerfile describes, which may get further steps. Stages that it does not need are not built. Rules of a file beside it with
 * `.dockerignore` at the end of its name replace those of `.dockerignore`. Throws `DockerfileError`, with the line, for what
 * a template cannot express, and the error of the file system for a file that cannot be read.
 */
export function fromDockerfile(textOrPath: string, options: DockerfileOptions = {}): TemplateBuilder {
  if (isText(textOrPath)) return new TemplateBuilder(parseDockerfile(textOrPath, options));
  const definition = parseDockerfile(readFileSync(textOrPath, 'utf8'), options);
  return new TemplateBuilder({ ...definition, ignoreFile: `${textOrPath}.dockerignore` });
}
