import { DockerfileParser } from 'dockerfile-ast';
import { toSandboxError } from '../../errors.ts';
import type { TemplateDefinition, TemplateStep } from '../definition.ts';
import { quoteWord } from '../quote-word.ts';
import { defaultShell, toRunCommand } from './commands.ts';
import { toCopySteps } from './copy-instruction.ts';
import { type ParsedInstruction, parseJsonForm, toParsedInstruction } from './instruction.ts';
import { refuse } from './refused.ts';
import { type Scope, splitWords, toBuildText, toKnownText } from './scope.ts';
import { type StartParts, toReadyCommand, toStartCommand } from './start-command.ts';
import { type BuildArgs, setGlobalArgs, toArgSteps, toEnvStep } from './variable-instructions.ts';

/** Nothing in a template corresponds to them, and nothing in its sandboxes depends on them. */
const withoutEffect = ['EXPOSE', 'LABEL', 'MAINTAINER', 'STOPSIGNAL'];

interface State {
  image: string | undefined;
  steps: TemplateStep[];
  shell: readonly string[];
  start: StartParts;
  scope: Scope;
  buildArgs: BuildArgs;
}

/**
 * Turns a Dockerfile of one stage into a template. Throws `DockerfileError`, with the line, for what it cannot express, and
 * `invalid_argument` for a build argument that the file does not declare.
 */
export function parseDockerfile(
  source: string,
  values: Readonly<Record<string, string>>,
): TemplateDefinition {
  const file = DockerfileParser.parse(source);
  const state: State = {
    image: undefined,
    steps: [],
    shell: defaultShell,
    start: {},
    scope: { global: new Map(), args: new Map(), env: new Map(), escape: file.getEscapeCharacter() },
    buildArgs: { values, used: new Set() },
  };
  const text = { lines: source.split(/\r?\n/), escape: file.getEscapeCharacter() };
  for (const instruction of file.getInstructions()) apply(toParsedInstruction(instruction, text), state);
  if (state.image === undefined) return refuse(1, 'there is no FROM');
  const unused = Object.keys(values).filter((name) => !state.buildArgs.used.has(name));
  if (unused.length > 0)
    throw toSandboxError('invalid_argument', `no ARG for the build arguments ${unused.join(', ')}`);
  return {
    source: { kind: 'image', image: state.image, credentials: undefined },
    steps: state.steps,
    startCommand: toStartCommand(state.start),
    readyCommand: state.start.ready,
  };
}

function apply(instruction: ParsedInstruction, state: State): void {
  const { keyword, line, text } = instruction;
  const { scope, buildArgs, shell } = state;
  if (state.image === undefined) {
    if (keyword === 'ARG') setGlobalArgs(instruction, scope, buildArgs);
    else if (keyword === 'FROM') begin(instruction, state);
    else refuse(line, `${keyword} must not stand before FROM`);
    return;
  }
  switch (keyword) {
    case 'FROM':
      refuse(line, 'a second FROM is not supported: the file must have one stage');
      break;
    case 'RUN':
      state.steps.push({ type: 'RUN', args: [toRunCommand(instruction, shell)], line });
      break;
    case 'COPY':
    case 'ADD':
      state.steps.push(...toCopySteps(instruction, scope));
      break;
    case 'ENV':
      state.steps.push(toEnvStep(instruction, scope));
      break;
    case 'ARG':
      state.steps.push(...toArgSteps(instruction, scope, buildArgs));
      break;
    case 'WORKDIR': {
      const [word = []] = splitWords(text, scope, line, { whole: true });
      state.steps.push({ type: 'WORKDIR', args: [toBuildText(word, line)], line });
      break;
    }
    case 'USER':
      state.steps.push({ type: 'USER', args: [toUser(instruction, scope)], line });
      break;
    case 'CMD':
      state.start.cmd = { text, shell };
      break;
    case 'ENTRYPOINT':
      state.start.entrypoint = { text, shell };
      break;
    case 'HEALTHCHECK':
      state.start.ready = toReadyCommand(instruction, shell);
      break;
    case 'SHELL':
      state.shell = parseJsonForm(text) ?? refuse(line, 'SHELL must be a JSON list');
      break;
    case 'VOLUME':
      state.steps.push(toFolders(instruction, scope));
      break;
    default:
      if (!withoutEffect.includes(keyword)) refuse(line, `${keyword} is not supported`);
  }
}

function begin({ text, line, flags }: ParsedInstruction, state: State): void {
  for (const { name } of flags) refuse(line, `FROM --${name} is not supported`);
  const words = splitWords(text, { ...state.scope, args: state.scope.global }, line);
  const [image = '', as, name, ...more] = words.map((word) => toKnownText(word, line));
  const isAlias = as === undefined || (as.toUpperCase() === 'AS' && name !== undefined);
  if (image === '' || !isAlias || more.length > 0) refuse(line, 'FROM must be an image, and AS with a name');
  if (image === 'scratch') refuse(line, 'FROM scratch is not supported');
  state.image = image;
  // The service begins as its own user. What the image names, which Docker takes, is not known here.
  state.steps.push({ type: 'USER', args: ['root'], line }, { type: 'WORKDIR', args: ['/'], line });
}

function toUser({ text, line }: ParsedInstruction, scope: Scope): string {
  const [word = []] = splitWords(text, scope, line, { whole: true });
  const user = toKnownText(word, line);
  if (/^[A-Za-z_][A-Za-z0-9_-]{0,31}$/.test(user)) return user;
  return refuse(line, `USER must be the name of a user, without a group, got "${user}"`);
}

/** What it holds is part of the disk of each sandbox. */
function toFolders({ text, line }: ParsedInstruction, scope: Scope): TemplateStep {
  const words = parseJsonForm(text) ?? splitWords(text, scope, line).map((word) => toKnownText(word, line));
  if (words.length === 0) refuse(line, 'VOLUME needs a folder');
  return { type: 'RUN', args: [`mkdir -p -- ${words.map(quoteWord).join(' ')}`, 'root'], line };
}
