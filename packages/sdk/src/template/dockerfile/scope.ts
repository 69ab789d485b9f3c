import { parseWords, toText, type WordPart } from '@skerry/platform-client/words';
import { refuse } from './refused.ts';

/** The variables of a Dockerfile at one of its lines. */
export interface Scope {
  /** Before the first FROM; null without a value. */
  readonly global: Map<string, string | null>;
  /** ARG after FROM; null without a value, undefined when only the build knows it. */
  readonly args: Map<string, string | null | undefined>;
  /** ENV; undefined when only the build knows the value. */
  readonly env: Map<string, string | undefined>;
  readonly escapeChar: string;
}

/** The words of an instruction; see `parseWords`. Throws `DockerfileError`. */
export const splitWords = (
  text: string,
  scope: Pick<Scope, 'escapeChar' | 'args' | 'env'>,
  line: number,
  options?: { whole?: boolean; heredoc?: boolean },
): WordPart[][] =>
  parseWords(
    text,
    {
      // A heredoc is read as a shell reads it.
      escape: options?.heredoc ? '\\' : scope.escapeChar,
      // ENV goes before ARG, as in Docker. Others are those of the image, which only the build knows.
      lookUp: (name) => (scope.env.has(name) ? scope.env.get(name) : scope.args.get(name)),
      refuse: (message) => refuse(line, message),
    },
    options,
  );

/** The words of FROM and of ARG before it: what is not declared there is unset. */
export const splitGlobalWords = (text: string, { global, escapeChar }: Scope, line: number): string[] =>
  parseWords(text, {
    escape: escapeChar,
    lookUp: (name) => global.get(name) ?? null,
    refuse: (message) => refuse(line, message),
  }).map((word) => toKnownText(word, line));

/** The text of a word in which all variables are known. Throws `DockerfileError` for another. */
export const toKnownText = (word: readonly WordPart[], line: number): string => {
  const unknown = word.find((part) => typeof part !== 'string');
  if (unknown !== undefined)
    refuse(
      line,
      `the value of $${unknown.variable} is needed to read the file, and only the build knows that of the image: declare it with ARG or ENV before`,
    );
  return toText(word) ?? '';
};
