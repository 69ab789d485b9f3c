import { refuse } from './refused.ts';
import { parseWords, type WordPart } from './words.ts';

/** The variables of a Dockerfile at one of its lines. */
export interface Scope {
  /** Before the first FROM. */
  readonly global: Map<string, string | null>;
  /** ARG after FROM; null without a value. */
  readonly args: Map<string, string | null>;
  /** ENV; undefined when only the build knows the value. */
  readonly env: Map<string, string | undefined>;
  readonly escape: string;
}

/** The words of an instruction; see `parseWords`. Throws `DockerfileError`. */
export const splitWords = (
  text: string,
  scope: Scope,
  line: number,
  options?: { whole: boolean; raw?: boolean },
) =>
  parseWords(
    text,
    {
      escape: scope.escape,
      // ENV goes before ARG, as in Docker.
      lookUp: (name) => (scope.env.has(name) ? scope.env.get(name) : scope.args.get(name)),
      refuse: (message) => refuse(line, message),
    },
    options,
  );

/** The text of a word in which all variables are known. Throws `DockerfileError` for another. */
export const toKnownText = (word: readonly WordPart[], line: number): string =>
  word
    .map((part) =>
      typeof part === 'string'
        ? part
        : refuse(line, `the value of $${part.variable} is not known here: declare it with ARG or ENV before`),
    )
    .join('');

/** The text of a word for a step in which the build replaces `${NAME}`. Throws `DockerfileError` where a `$` has to stay. */
export const toBuildText = (word: readonly WordPart[], line: number): string =>
  word
    .map((part) => {
      if (typeof part !== 'string') return `\${${part.variable}}`;
      const found = /\$(?:[A-Za-z_]|\{[A-Za-z_]\w*\})/.exec(part);
      return found
        ? refuse(
            line,
            `"${part.slice(found.index)}" has a "$" that must not be replaced, which is not supported`,
          )
        : part;
    })
    .join('');
