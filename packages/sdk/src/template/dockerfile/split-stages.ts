import { fromsOf } from './copy-instruction.ts';
import type { ParsedInstruction } from './instruction.ts';
import { fromsOfMounts } from './mounts.ts';
import { triggersOf } from './onbuild.ts';
import { refuse } from './refused.ts';
import { type Scope, splitGlobalWords } from './scope.ts';

/** One FROM and what follows it. */
export interface DockerfileStage {
  /** From 0, as `--from` and `--target` count. */
  index: number;
  /** In lower case. */
  name: string | undefined;
  from: ParsedInstruction;
  /** The image, or the name of an earlier stage. */
  base: string;
  instructions: ParsedInstruction[];
}

/** The stages of a file after its global ARGs, which `scope` has. Throws `DockerfileError`. */
export function splitStages(instructions: readonly ParsedInstruction[], scope: Scope): DockerfileStage[] {
  const stages: DockerfileStage[] = [];
  for (const instruction of instructions) {
    if (instruction.keyword === 'FROM') {
      const stage = toStage(instruction, scope, stages);
      const base = findBase(stages, stage);
      if (base) stage.instructions.push(...base.instructions.flatMap((one) => triggersOf(one, scope)));
      stages.push(stage);
    } else stages.at(-1)?.instructions.push(instruction);
  }
  return stages;
}

function toStage(from: ParsedInstruction, scope: Scope, before: readonly DockerfileStage[]): DockerfileStage {
  const { line, text } = from;
  const [base = '', as, given, ...more] = splitGlobalWords(text, scope, line);
  const isAlias = as === undefined || (as.toUpperCase() === 'AS' && given !== undefined);
  if (base === '') refuse(line, `FROM must be an image, and "${text}" is empty`);
  if (!isAlias || more.length > 0) refuse(line, 'FROM must be an image, and AS with a name');
  const name = given?.toLowerCase();
  if (name !== undefined && !/^[a-z][a-z0-9_.-]*$/.test(name))
    refuse(line, `"${given}" is no name of a stage`);
  return { index: before.length, name, from, base, instructions: [] };
}

/** The stage of a name or number, the last of several with one name; undefined when there is none. */
export const findStage = (stages: readonly DockerfileStage[], text: string): DockerfileStage | undefined =>
  stages.findLast(({ name }) => name === text.toLowerCase()) ??
  (/^\d+$/.test(text) ? stages[Number(text)] : undefined);

/** The earlier stage that a stage continues; undefined for an image. */
export const findBase = (stages: readonly DockerfileStage[], { base, index }: DockerfileStage) =>
  stages.slice(0, index).findLast(({ name }) => name === base.toLowerCase());

/** The earlier stage that `--from` names; undefined for an image. Throws `DockerfileError` for a number without a stage. */
export function findSource(
  stages: readonly DockerfileStage[],
  { index }: DockerfileStage,
  { from, line }: { from: string; line: number },
): DockerfileStage | undefined {
  if (from === '' || from.includes('$'))
    refuse(line, '"from" must be a stage or an image, without variables');
  const found = findStage(stages.slice(0, index), from);
  if (found === undefined && /^\d+$/.test(from)) refuse(line, `there is no stage ${from} before this one`);
  return found;
}

/** A stage and all that it needs, in the order of the file. Throws `DockerfileError`. */
export function listNeeded(stages: readonly DockerfileStage[], target: DockerfileStage): DockerfileStage[] {
  const needed = new Set<DockerfileStage>();
  const pending: (DockerfileStage | undefined)[] = [target];
  while (pending.length > 0) {
    const stage = pending.pop();
    if (stage === undefined || needed.has(stage)) continue;
    needed.add(stage);
    pending.push(findBase(stages, stage));
    for (const instruction of stage.instructions) {
      for (const from of [...fromsOf(instruction), ...fromsOfMounts(instruction)])
        pending.push(findSource(stages, stage, { from, line: instruction.line }));
    }
  }
  return stages.filter((stage) => needed.has(stage));
}
