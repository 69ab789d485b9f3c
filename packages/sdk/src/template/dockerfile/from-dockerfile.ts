import { readFileSync } from 'node:fs';
import { TemplateBuilder } from '../template.ts';
import { parseDockerfile } from './parse-dockerfile.ts';

export interface DockerfileOptions {
  /** Values for the variables that ARG declares. */
  buildArgs?: Readonly<Record<string, string>> | undefined;
}

/** A text has several lines, or begins with its first instruction; anything else is a path. */
const isText = (text: string): boolean => /[\r\n]/.test(text) || /^\s*(?:FROM|ARG)\s/i.test(text);

/**
 * The template that a Dockerfile of one stage describes, which may get further steps. Rules of a file beside it with
 * `.dockerignore` at the end of its name replace those of `.dockerignore`. Throws `DockerfileError`, with the line, for what
 * a template cannot express, and the error of the file system for a file that cannot be read.
 */
export function fromDockerfile(
  textOrPath: string,
  { buildArgs = {} }: DockerfileOptions = {},
): TemplateBuilder {
  if (isText(textOrPath)) return new TemplateBuilder(parseDockerfile(textOrPath, buildArgs));
  const definition = parseDockerfile(readFileSync(textOrPath, 'utf8'), buildArgs);
  return new TemplateBuilder({ ...definition, ignoreFile: `${textOrPath}.dockerignore` });
}
