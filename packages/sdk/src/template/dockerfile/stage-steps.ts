import type { TemplateStep } from '../definition.ts';
import { quoteWord } from '../quote-word.ts';
import { defaultShell, toRunCommand, toWords } from './commands.ts';
import { toCopySteps } from './copy-instruction.ts';
import { type ParsedInstruction, parseJsonForm } from './instruction.ts';
import { refuse } from './refused.ts';
import { type Scope, splitWords, toBuildText, toKnownText } from './scope.ts';
import { type StartParts, toExposedPorts, toHealthcheck } from './start-command.ts';
import { type BuildArgs, toArgSteps, toEnvStep, toProxySteps } from './variable-instructions.ts';

/** Nothing in a template corresponds to them, and nothing in its sandboxes depends on them. */
const withoutEffect = ['LABEL', 'MAINTAINER', 'STOPSIGNAL'];
const account = /^(?:[A-Za-z_][A-Za-z0-9_-]{0,31}|\d{1,10})(?::(?:[A-Za-z_][A-Za-z0-9_-]{0,31}|\d{1,10}))?$/;

/** What the instructions of a stage have made so far. */
export interface StageState {
  steps: TemplateStep[];
  shell: readonly string[];
  start: StartParts;
  /** Whether `start.command` is of this stage. */
  hasCommand: boolean;
  /** Whether it has the step for proxies. */
  hasProxies: boolean;
  scope: Scope;
}

/** The state at the beginning of a stage: that at the end of the one that it continues, without its steps. */
export const continueState = (base: StageState | undefined, scope: Scope): StageState => ({
  steps: [],
  shell: base?.shell ?? defaultShell,
  start: { ...base?.start },
  hasCommand: false,
  hasProxies: false,
  scope: { ...scope, args: new Map(base?.scope.args), env: new Map(base?.scope.env) },
});

/** Applies one instruction to a state. `findStage` returns the stage that COPY --from names. Throws `DockerfileError`. */
export function applyInstruction(
  instruction: ParsedInstruction,
  state: StageState,
  { buildArgs, findStage }: { buildArgs: BuildArgs; findStage: (from: string) => number },
): void {
  const { keyword, line, text } = instruction;
  const { scope, shell, steps, start } = state;
  switch (keyword) {
    case 'RUN': {
      const run = toRunCommand(instruction, shell);
      if (!state.hasProxies) steps.push(...toProxySteps(instruction, scope, buildArgs));
      state.hasProxies = true;
      steps.push({ type: 'RUN', args: [run.command], shell: run.shell, line });
      break;
    }
    case 'COPY':
    case 'ADD':
      steps.push(...toCopySteps(instruction, scope, findStage));
      break;
    case 'ENV':
      steps.push(toEnvStep(instruction, scope));
      break;
    case 'ARG':
      steps.push(...toArgSteps(instruction, scope, buildArgs));
      break;
    case 'WORKDIR': {
      const [word = []] = splitWords(text, scope, line, { whole: true });
      steps.push({ type: 'WORKDIR', args: [toBuildText(word, line)], line });
      break;
    }
    case 'USER':
      steps.push({ type: 'USER', args: [toUser(instruction, scope)], dockerfile: 'user', line });
      break;
    case 'CMD':
      start.command = toWords(text, shell);
      state.hasCommand = true;
      break;
    case 'ENTRYPOINT':
      start.entrypoint = toWords(text, shell);
      // An inherited CMD would become the arguments of another program.
      if (!state.hasCommand) start.command = undefined;
      break;
    case 'HEALTHCHECK':
      start.healthcheck = toHealthcheck(instruction, shell);
      break;
    case 'EXPOSE':
      start.exposedPorts = [...(start.exposedPorts ?? []), ...toExposedPorts(instruction, scope)];
      break;
    case 'SHELL':
      state.shell = toShell(instruction);
      break;
    case 'VOLUME':
      steps.push(toFolders(instruction, scope));
      break;
    default:
      if (!withoutEffect.includes(keyword)) refuse(line, `${keyword} is not supported`);
  }
}

function toShell({ text, line }: ParsedInstruction): string[] {
  const words = parseJsonForm(text) ?? [];
  return words.length > 0 ? words : refuse(line, 'SHELL must be a JSON list');
}

function toUser({ text, line }: ParsedInstruction, scope: Scope): string {
  const [word = []] = splitWords(text, scope, line, { whole: true });
  const user = toKnownText(word, line);
  if (account.test(user)) return user;
  return refuse(line, `USER must be a name or a number, optionally with ":" and a group, got "${user}"`);
}

/** What it holds is part of the disk of each sandbox. */
function toFolders({ text, line }: ParsedInstruction, scope: Scope): TemplateStep {
  const words = parseJsonForm(text) ?? splitWords(text, scope, line).map((word) => toKnownText(word, line));
  if (words.length === 0) refuse(line, 'VOLUME needs a folder');
  const args = [`mkdir -p -- ${words.map(quoteWord).join(' ')}`, 'root'];
  return { type: 'RUN', args, shell: defaultShell, line };
}
