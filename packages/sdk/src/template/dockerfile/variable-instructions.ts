import type { TemplateStep } from '../definition.ts';
import type { ParsedInstruction } from './instruction.ts';
import { refuse } from './refused.ts';
import { type Scope, splitWords, toBuildText, toKnownText } from './scope.ts';
import type { WordPart } from './words.ts';

/** Docker sets these itself, for the platform that it builds on. */
const automatic = /^(?:TARGET|BUILD)(?:PLATFORM|OS|ARCH|VARIANT)$/;

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

/** ENV, in its form with `=` and in the old one with one variable. Throws `DockerfileError`. */
export function toEnvStep({ text, line }: ParsedInstruction, scope: Scope): TemplateStep {
  const set = new Map<string, readonly WordPart[]>();
  for (const [name, word] of parseVariables(text, line, scope)) {
    const early = word.find((part) => typeof part !== 'string' && set.has(part.variable));
    // Docker takes the value from before this instruction, and the build that from within it.
    if (early !== undefined) refuse(line, `ENV ${name} uses a variable that the same ENV sets: use two`);
    set.set(name, word);
  }
  const args: string[] = [];
  for (const [name, word] of set) {
    args.push(name, toBuildText(word, line));
    const isKnown = word.every((part) => typeof part === 'string');
    scope.env.set(name, isKnown ? word.join('') : undefined);
  }
  return { type: 'ENV', args, line };
}

function parseVariables(text: string, line: number, scope: Scope): [string, WordPart[]][] {
  const old = /^([^\s=]+)\s+([\s\S]+)$/.exec(text);
  if (old) {
    const [, name = '', value = ''] = old;
    return [[requireName(name, line), splitWords(value, scope, line, { whole: true })[0] ?? []]];
  }
  const words = splitWords(text, scope, line);
  if (words.length === 0) refuse(line, 'ENV needs a variable');
  return words.map(([first = '', ...rest]) => {
    const whole = typeof first === 'string' ? first : '';
    const at = whole.indexOf('=');
    if (at < 0) refuse(line, 'ENV must be NAME=value');
    return [requireName(whole.slice(0, at), line), [whole.slice(at + 1), ...rest]];
  });
}

function requireName(name: string, line: number): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : refuse(line, `"${name}" is no name of a variable`);
}

/** ARG after FROM: a step for each variable that has a value and is not hidden by ENV. Throws `DockerfileError`. */
export function toArgSteps(
  instruction: ParsedInstruction,
  scope: Scope,
  buildArgs: BuildArgs,
): TemplateStep[] {
  const { line } = instruction;
  return parseArgs(instruction, scope).flatMap(([name, given]) => {
    const word = given && [toKnownText(given, line)];
    const value = take(buildArgs, name) ?? word?.[0] ?? scope.global.get(name) ?? null;
    if (value === null && automatic.test(name))
      refuse(line, `the value of ${name} is not known: give it as a build argument`);
    scope.args.set(name, value);
    if (value === null || scope.env.has(name)) return [];
    return [{ type: 'ARG' as const, args: [name, toBuildText([value], line)], line }];
  });
}

/**
 * Before the first RUN of a stage: a step for the given proxies that the stage has neither declared nor set itself. Instructions
 * cannot use them as variables. Throws `DockerfileError`.
 */
export function toProxySteps(
  { line }: ParsedInstruction,
  scope: Scope,
  { values }: BuildArgs,
): TemplateStep[] {
  const args = predefined
    .filter((name) => Object.hasOwn(values, name) && !scope.args.has(name) && !scope.env.has(name))
    .flatMap((name) => [name, toBuildText([values[name] ?? ''], line)]);
  return args.length === 0 ? [] : [{ type: 'ARG', args, line }];
}

/** The build arguments that no ARG has declared, and that Docker does not have without one. */
export const listUnused = ({ values, used }: BuildArgs): string[] =>
  Object.keys(values).filter((name) => !used.has(name) && !predefined.includes(name));

/** Takes a build argument for declared that a stage declares which is not built. */
export function noteArgs(instructions: readonly ParsedInstruction[], buildArgs: BuildArgs): void {
  for (const { keyword, text } of instructions)
    if (keyword === 'ARG') for (const word of text.split(/\s+/)) take(buildArgs, word.replace(/=.*$/s, ''));
}

/** ARG before FROM. */
export function setGlobalArgs(instruction: ParsedInstruction, scope: Scope, buildArgs: BuildArgs): void {
  for (const [name, given] of parseArgs(instruction, { ...scope, args: scope.global })) {
    const value = take(buildArgs, name) ?? (given ? toKnownText(given, instruction.line) : null);
    scope.global.set(name, value);
  }
}

function parseArgs({ text, line }: ParsedInstruction, scope: Scope): [string, WordPart[] | undefined][] {
  const words = splitWords(text, scope, line);
  if (words.length === 0) refuse(line, 'ARG needs a name');
  return words.map(([first = '', ...rest]) => {
    const whole = typeof first === 'string' ? first : '';
    const at = whole.indexOf('=');
    const name = requireName(at < 0 ? whole : whole.slice(0, at), line);
    return [name, at < 0 ? undefined : [whole.slice(at + 1), ...rest]];
  });
}

function take({ values, used }: BuildArgs, name: string): string | undefined {
  if (!Object.hasOwn(values, name)) return undefined;
  used.add(name);
  return values[name];
}
