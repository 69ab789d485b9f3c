import { type ParsedInstruction, readInstructions } from './instruction.ts';
import { refuse } from './refused.ts';
import type { Scope } from './scope.ts';

/** Instructions that cannot wait for another stage. */
const immediate = ['ONBUILD', 'FROM', 'MAINTAINER'];

/**
 * The instruction of an ONBUILD, which runs at the beginning of each stage that continues its own; none of any other instruction. Throws
 * `DockerfileError` for one that cannot wait.
 */
export function triggersOf(
  { keyword, text, line }: ParsedInstruction,
  { escapeChar }: Pick<Scope, 'escapeChar'>,
): ParsedInstruction[] {
  if (keyword !== 'ONBUILD') return [];
  const [trigger] = readInstructions(text, escapeChar).instructions;
  if (trigger === undefined) return refuse(line, 'ONBUILD needs an instruction');
  if (immediate.includes(trigger.keyword)) refuse(line, `ONBUILD ${trigger.keyword} is not allowed`);
  return [{ ...trigger, line }];
}
