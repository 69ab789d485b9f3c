import { toWords } from './commands.ts';
import type { ParsedInstruction } from './instruction.ts';
import { refuse } from './refused.ts';
import { type Scope, splitWords, toKnownText } from './scope.ts';

/** What CMD, ENTRYPOINT and HEALTHCHECK say, of which the last of each holds, and each EXPOSE. */
export interface StartParts {
  entrypoint?: readonly string[] | undefined;
  command?: readonly string[] | undefined;
  healthcheck?: readonly string[] | undefined;
  exposedPorts?: readonly number[] | undefined;
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

const MAX_PORT = 65_535;

/**
 * The TCP ports of `PORT`, `PORT/tcp`, `FIRST-LAST` and the like, as one instruction has them, without those that only a variable of the
 * image names: a template does not wait for these. Throws `DockerfileError`.
 */
export function toExposedPorts({ text, line }: ParsedInstruction, scope: Scope): number[] {
  const words = splitWords(text, scope, line);
  if (words.length === 0) refuse(line, 'EXPOSE needs a port');
  const known = words.filter((word) => word.every((part) => typeof part === 'string'));
  return known.flatMap((parts) => {
    const word = toKnownText(parts, line);
    const [, from = '', to = from, protocol = 'tcp'] =
      /^(\d{1,5})(?:-(\d{1,5}))?(?:\/(tcp|udp|sctp))?$/i.exec(word) ?? [];
    const [first, last] = [Number(from), Number(to)];
    if (first < 1 || last < first || last > MAX_PORT)
      refuse(
        line,
        `EXPOSE must be a port of 1 to ${MAX_PORT} or a range, optionally with /tcp or /udp, got "${word}"`,
      );
    if (protocol.toLowerCase() !== 'tcp') return [];
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
