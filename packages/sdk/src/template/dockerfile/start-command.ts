import { toWords } from './commands.ts';
import type { ParsedInstruction } from './instruction.ts';
import { refuse } from './refused.ts';

/** What CMD, ENTRYPOINT and HEALTHCHECK say, of which the last of each holds. */
export interface StartParts {
  entrypoint?: readonly string[] | undefined;
  command?: readonly string[] | undefined;
  healthcheck?: readonly string[] | undefined;
}

/**
 * The words of the check; none for NONE, which hides that of the image. Its intervals do not apply: a template repeats its ready command
 * every two seconds. Throws `DockerfileError`.
 */
export function toHealthcheck(
  { text, line }: ParsedInstruction,
  shell: readonly string[],
): readonly string[] {
  const [, kind = '', command = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
  if (kind.toUpperCase() === 'NONE') return [];
  const words = kind.toUpperCase() === 'CMD' && command !== '' ? toWords(command, shell) : [];
  return words.length > 0 ? words : refuse(line, 'HEALTHCHECK needs NONE, or CMD and a command');
}
