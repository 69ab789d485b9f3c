import { toText, type WordPart, writeWord } from '@skerry/platform-client/words';
import type { TemplateStep } from '../definition.ts';
import type { ParsedInstruction } from './instruction.ts';
import { isPlatformArg } from './platform.ts';
import { refuse } from './refused.ts';
import { type Scope, splitGlobalWords, splitWords } from './scope.ts';

/** Docker has these for the commands of every stage without an ARG. */
const predefined: readonly string[] = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'FTP_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
].flatMap((name) => [name, name.toLowerCase()]);

/** What the caller gave by name, and which of it the Dockerfile has used. */
export interface BuildArgs {
  readonly values: Readonly<Record<string, string>>;
  readonly used: Set<string>;
}

/** ENV, in its form with `=` and in the old one with one variable. All values are from before it. Throws `DockerfileError`. */
export function toEnvStep({ text, line }: ParsedInstruction, scope: Scope): TemplateStep {
  const variables = new Map(parseVariables(text, line, scope));
  for (const [name, word] of variables) scope.env.set(name, toText(word));
  const args = [...variables].flatMap(([name, word]) => [name, writeWord(word)]);
  return { type: 'ENV', args, dockerfile: true, line };
}

function parseVariables(text: string, line: number, scope: Scope): [string, readonly WordPart[]][] {
  const old = /^([^\s=]+)\s+([\s\S]+)$/.exec(text);
  if (old) {
    const [, name = '', value = ''] = old;
    return [[requireName(name, line), splitWords(value, scope, line, { whole: true })[0] ?? []]];
  }
  const words = splitWords(text, scope, line);
  if (words.length === 0) refuse(line, 'ENV needs a variable');
  return words.map((word) => {
    const [name, value] = splitAssignment(word, line);
    return [name, value ?? refuse(line, 'ENV must be NAME=value')];
  });
}

function splitAssignment(
  [first = '', ...rest]: readonly WordPart[],
  line: number,
): [string, WordPart[] | undefined] {
  const whole = typeof first === 'string' ? first : '';
  const at = whole.indexOf('=');
  const name = requireName(at < 0 ? whole : whole.slice(0, at), line);
  return [name, at < 0 ? undefined : [whole.slice(at + 1), ...rest]];
}

function requireName(name: string, line: number): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : refuse(line, `"${name}" is no name of a variable`);
}

/** ARG after FROM: a step for each variable that has a value and is not hidden by ENV. Throws `DockerfileError`. */
export function toArgSteps(
  { text, line }: ParsedInstruction,
  scope: Scope,
  buildArgs: BuildArgs,
): TemplateStep[] {
  const words = splitWords(text, scope, line);
  if (words.length === 0) refuse(line, 'ARG needs a name');
  return words.filter(declares).flatMap((one) => {
    const [name, given] = splitAssignment(one, line);
    const value = take(buildArgs, name);
    const word = value === undefined ? (given ?? toGlobal(name, scope)) : [value];
    scope.args.set(name, word === null ? null : toText(word));
    if (word === null || scope.env.has(name)) return [];
    return [{ type: 'ARG' as const, args: [name, writeWord(word)], dockerfile: true, line }];
  });
}

/**
 * ARG has no comment at its end. Docker takes each word of one for a name, and a word that is no name and has no value changes
 * nothing.
 */
const declares = ([first = '', ...rest]: readonly WordPart[]): boolean =>
  rest.length > 0 || typeof first !== 'string' || /^[A-Za-z_]\w*$|=/.test(first);

const toGlobal = (name: string, { global }: Scope): string[] | null => {
  const value = global.get(name) ?? null;
  return value === null ? null : [value];
};

/**
 * Before the first RUN of a stage: a step for the given proxies that the stage has neither declared nor set itself. Instructions
 * cannot use them as variables.
 */
export function toProxySteps(
  { line }: ParsedInstruction,
  scope: Scope,
  { values }: BuildArgs,
): TemplateStep[] {
  const args = predefined
    .filter((name) => Object.hasOwn(values, name) && !scope.args.has(name) && !scope.env.has(name))
    .flatMap((name) => [name, writeWord([values[name] ?? ''])]);
  return args.length === 0 ? [] : [{ type: 'ARG', args, dockerfile: true, line }];
}

/** The build arguments that no ARG has declared, and that Docker does not have without one. */
export const listUnused = ({ values, used }: BuildArgs): string[] =>
  Object.keys(values).filter((name) => !used.has(name) && !predefined.includes(name) && !isPlatformArg(name));

/** Takes a build argument for declared that a stage declares which is not built. */
export function noteArgs(instructions: readonly ParsedInstruction[], buildArgs: BuildArgs): void {
  for (const { keyword, text } of instructions)
    if (keyword === 'ARG') for (const word of text.split(/\s+/)) take(buildArgs, word.replace(/=.*$/s, ''));
}

/** ARG before FROM. Without a value a platform argument keeps its own. */
export function setGlobalArgs({ text, line }: ParsedInstruction, scope: Scope, buildArgs: BuildArgs): void {
  const words = splitGlobalWords(text, scope, line);
  if (words.length === 0) refuse(line, 'ARG needs a name');
  for (const word of words.filter((one) => declares([one]))) {
    const [name, given] = splitAssignment([word], line);
    const own = given && toText(given);
    scope.global.set(name, take(buildArgs, name) ?? own ?? scope.global.get(name) ?? null);
  }
}

function take({ values, used }: BuildArgs, name: string): string | undefined {
  if (!Object.hasOwn(values, name)) return undefined;
  used.add(name);
  return values[name];
}
