import { quoteWord } from '../quote-word.ts';
import { type ParsedInstruction, parseJsonForm } from './instruction.ts';
import { refuse } from './refused.ts';

/** What runs the shell form of a Dockerfile that has no SHELL. */
export const defaultShell: readonly string[] = ['/bin/sh', '-c'];

export const toCommand = (words: readonly string[]): string => words.map(quoteWord).join(' ');

/** The command of RUN, CMD, ENTRYPOINT or HEALTHCHECK CMD for a shell. Empty when there is none. */
export function toShellCommand(text: string, shell: readonly string[]): string {
  const words = parseJsonForm(text);
  if (words) return toCommand(words);
  return text === '' ? '' : toCommand([...shell, text]);
}

/** The command of RUN for a shell. Throws `DockerfileError`. */
export function toRunCommand(instruction: ParsedInstruction, shell: readonly string[]): string {
  const { line, text, flags, heredocs } = instruction;
  for (const { name } of flags) refuse(line, `RUN --${name} is not supported`);
  if (text === '') refuse(line, 'RUN needs a command');
  if (heredocs.length === 0) return toShellCommand(text, shell);
  const [only] = heredocs;
  if (heredocs.length === 1 && only && text === `<<${only.operator}`) {
    if (only.content.startsWith('#!')) refuse(line, 'a heredoc that begins with "#!" is not supported');
    return toCommand([...shell, toScript(only)]);
  }
  // The shell reads them, as Docker leaves it to do.
  const bodies = heredocs.map(({ content, delimiter }) => `${content}${delimiter}\n`).join('');
  return toCommand([...shell, `${text}\n${bodies}`]);
}

/** `<<-` removes tabs at the beginning of each line. */
const toScript = ({ operator, content }: ParsedInstruction['heredocs'][number]): string =>
  operator.startsWith('-') ? content.replaceAll(/^\t+/gm, '') : content;
