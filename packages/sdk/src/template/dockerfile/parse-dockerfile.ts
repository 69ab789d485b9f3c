import { toSandboxError } from '../../errors.ts';
import type { StageDefinition, TemplateDefinition } from '../definition.ts';
import { type ParsedInstruction, readInstructions } from './instruction.ts';
import {
  hostPlatform,
  isPlatformArg,
  type Platform,
  parsePlatform,
  requirePlatform,
  toPlatformArgs,
} from './platform.ts';
import { refuse } from './refused.ts';
import { type Scope, splitGlobalWords } from './scope.ts';
import {
  type DockerfileStage,
  findBase,
  findSource,
  findStage,
  listNeeded,
  splitStages,
} from './split-stages.ts';
import { applyInstruction, continueState, type StageState } from './stage-steps.ts';
import { type BuildArgs, listUnused, noteArgs, setGlobalArgs } from './variable-instructions.ts';

export interface ParseOptions {
  /** Values for the variables that ARG declares, and for the proxies that need no ARG, such as `http_proxy`. */
  buildArgs?: Readonly<Record<string, string>> | undefined;
  /** Name or number of the stage that becomes the template. Default: the last. */
  target?: string | undefined;
  /** What the template is built for, as `linux/arm64`. Default: that of this machine. */
  platform?: string | undefined;
  /** Whether this program fetches the URLs that ADD names. Default: false. */
  fetchUrls?: boolean | undefined;
}

/**
 * Turns a Dockerfile into a template: its target, and before it the stages that the target needs. Others are not looked at. Throws
 * `DockerfileError`, with the line, for what a template cannot express, and `invalid_argument` for an unknown target and a
 * build argument that the file does not declare.
 */
export function parseDockerfile(
  source: string,
  {
    buildArgs: values = {},
    target,
    platform: platformText = hostPlatform(),
    fetchUrls = false,
  }: ParseOptions = {},
): TemplateDefinition {
  const platform = parsePlatform(platformText);
  if (platform === undefined)
    throw toSandboxError(
      'invalid_argument',
      `platform must be linux/amd64 or linux/arm64, got "${platformText}"`,
    );
  const { instructions, escapeChar } = readInstructions(source);
  const global = new Map<string, string | null>(toPlatformArgs(platform));
  const scope: Scope = { global, args: new Map(), env: new Map(), escapeChar };
  const buildArgs: BuildArgs = { values, used: new Set() };
  applyGlobals(instructions, scope, buildArgs);
  const stages = splitStages(instructions, scope);
  const last = target === undefined ? stages.at(-1) : findStage(stages, target);
  if (stages.length === 0) return refuse(1, 'there is no FROM');
  if (last === undefined) throw toSandboxError('invalid_argument', `the Dockerfile has no stage "${target}"`);
  const needed = listNeeded(stages, last);
  for (const stage of stages) if (!needed.includes(stage)) noteArgs(stage.instructions, buildArgs);
  const built = buildStages(needed, { stages, scope, buildArgs, platform, fetchUrls });
  const unused = listUnused(buildArgs);
  if (unused.length > 0)
    throw toSandboxError('invalid_argument', `no ARG for the build arguments ${unused.join(', ')}`);
  return dependsOnPlatform(instructions) ? { ...built, platform: `${platform.os}/${platform.arch}` } : built;
}

/** Whether another platform could make other steps of it. */
const dependsOnPlatform = (instructions: readonly ParsedInstruction[]): boolean =>
  instructions.some(
    ({ keyword, text, flags }) =>
      (keyword === 'FROM' && flags.length > 0) ||
      ((keyword === 'FROM' || keyword === 'ARG') && text.split(/\W+/).some(isPlatformArg)),
  );

function applyGlobals(instructions: readonly ParsedInstruction[], scope: Scope, buildArgs: BuildArgs): void {
  for (const instruction of instructions) {
    const { keyword, line } = instruction;
    if (keyword === 'FROM') return;
    if (keyword !== 'ARG') refuse(line, `${keyword} must not stand before FROM`);
    setGlobalArgs(instruction, scope, buildArgs);
  }
}

function buildStages(
  needed: readonly DockerfileStage[],
  options: {
    stages: readonly DockerfileStage[];
    scope: Scope;
    buildArgs: BuildArgs;
    platform: Platform;
    fetchUrls: boolean;
  },
): TemplateDefinition {
  const { stages, scope, buildArgs, platform, fetchUrls } = options;
  const built: StageDefinition[] = [];
  const done = new Map<DockerfileStage, { index: number; state: StageState }>();
  const images = new Map<string, number>();

  /** An image that is only copied from is a stage without steps. */
  const addImage = (image: string): number => {
    const known = images.get(image);
    if (known !== undefined) return known;
    images.set(image, built.push({ source: toImage(image), steps: [] }) - 1);
    return built.length - 1;
  };

  let state: StageState | undefined;
  for (const stage of needed) {
    const { line, flags } = stage.from;
    for (const { value } of flags)
      requirePlatform(splitGlobalWords(value, scope, line)[0] ?? '', platform, line);
    const base = done.get(findBase(stages, stage) as DockerfileStage);
    const own = continueState(base?.state, scope);
    for (const instruction of stage.instructions)
      applyInstruction(instruction, own, {
        buildArgs,
        fetchUrls,
        findStage: (from) => {
          const found = findSource(stages, stage, { from, line: instruction.line });
          return found === undefined ? addImage(from) : (done.get(found)?.index as number);
        },
      });
    const source = base ? { kind: 'stage' as const, index: base.index } : toImage(stage.base);
    const index = built.push({ source, steps: own.steps, imageConfig: true }) - 1;
    done.set(stage, { index, state: own });
    state = own;
  }
  const final = built.pop() as StageDefinition;
  return { ...final, stages: built, startCommand: undefined, readyCommand: undefined, ...state?.start };
}

const toImage = (image: string) => ({ kind: 'image' as const, image, credentials: undefined });
