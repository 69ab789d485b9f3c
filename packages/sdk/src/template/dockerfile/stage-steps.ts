import { toText, writeWord } from '@skerry/platform-client/words';
import type { TemplateStep } from '../definition.ts';
import { defaultShell, toRunCommand, toWords } from './commands.ts';
import { toCopySteps } from './copy-instruction.ts';
import { type ParsedInstruction, parseJsonForm } from './instruction.ts';
import { toMounts } from './mounts.ts';
import { triggersOf } from './onbuild.ts';
import { refuse } from './refused.ts';
import { type Scope, splitWords } from './scope.ts';
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
  {
    buildArgs,
    ...copying
  }: { buildArgs: BuildArgs; findStage: (from: string) => number; fetchUrls: boolean },
): void {
  const { keyword, line, text } = instruction;
  const { scope, shell, steps, start } = state;
  switch (keyword) {
    case 'RUN': {
      const run = toRunCommand(instruction, shell);
      if (!state.hasProxies) steps.push(...toProxySteps(instruction, scope, buildArgs));
      state.hasProxies = true;
      const mounts = toMounts(instruction, scope, copying.findStage);
      const own = mounts.length > 0 && { mounts };
      steps.push({ type: 'RUN', args: [run.command], shell: run.shell, ...own, line });
      break;
    }
    case 'COPY':
    case 'ADD':
      steps.push(...toCopySteps(instruction, scope, copying));
      break;
    case 'ENV':
      steps.push(toEnvStep(instruction, scope));
      break;
    case 'ARG':
      steps.push(...toArgSteps(instruction, scope, buildArgs));
      break;
    case 'WORKDIR': {
      const [word] = splitWords(text, scope, line, { whole: true });
      if (word === undefined) refuse(line, 'WORKDIR needs a folder');
      else steps.push({ type: 'WORKDIR', args: [writeWord(word)], dockerfile: true, line });
      break;
    }
    case 'USER':
      steps.push({ type: 'USER', args: [toUser(instruction, scope)], dockerfile: true, line });
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
    case 'ONBUILD':
      // Only looked at: it runs in other stages, which have it as an instruction of their own.
      triggersOf(instruction, scope);
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
  const user = toText(word);
  if (user === undefined || account.test(user)) return writeWord(word);
  return refuse(line, `USER must be a name or a number, optionally with ":" and a group, got "${user}"`);
}

/** What it holds is part of the disk of each sandbox. */
function toFolders({ text, line }: ParsedInstruction, scope: Scope): TemplateStep {
  const words =
    parseJsonForm(text)?.map((word) => splitWords(word, scope, line, { whole: true })[0] ?? []) ??
    splitWords(text, scope, line);
  if (words.length === 0) refuse(line, 'VOLUME needs a folder');
  return { type: 'VOLUME', args: words.map(writeWord), dockerfile: true, line };
}
