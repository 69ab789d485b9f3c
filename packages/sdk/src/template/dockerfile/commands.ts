import { quoteWord } from '../quote-word.ts';
import { toScript } from './heredoc.ts';
import { type ParsedInstruction, parseJsonForm } from './instruction.ts';
import { refuse } from './refused.ts';

/** What runs the shell form of a Dockerfile that has no SHELL. */
export const defaultShell: readonly string[] = ['/bin/sh', '-c'];

/** The words of CMD, ENTRYPOINT or HEALTHCHECK CMD. */
export const toWords = (text: string, shell: readonly string[]): string[] =>
  parseJsonForm(text) ?? [...shell, text];

/** The words of RUN: those before the last, and the last, which is the command of a shell. Throws `DockerfileError`. */
export function toRunCommand(
  instruction: ParsedInstruction,
  shell: readonly string[],
): { shell: readonly string[]; command: string } {
  const { line, text, flags, heredocs } = instruction;
  for (const { name, value } of flags) if (name !== 'mount') requireDefault(name, value, line);
  if (text === '') refuse(line, 'RUN needs a command');
  if (heredocs.length === 0) {
    const words = toWords(text, shell);
    const command = words.pop();
    return { shell: words, command: command || refuse(line, 'RUN needs a last word that is not empty') };
  }
  const [only] = heredocs;
  if (heredocs.length === 1 && only && text === only.word) {
    const script = toScript(only);
    return script.startsWith('#!')
      ? { shell: defaultShell, command: toProgram(script) }
      : { shell, command: script };
  }
  // The shell reads the heredocs itself, as in Docker.
  const bodies = heredocs.map(({ content, delimiter }) => `${content}${delimiter}\n`).join('');
  return { shell, command: `${text}\n${bodies}` };
}

/** Docker's defaults are what a build does anyway. Throws `DockerfileError` for other networks, rights and devices. */
function requireDefault(name: string, value: string, line: number): void {
  const isDefault =
    (name === 'network' && value === 'default') || (name === 'security' && value === 'sandbox');
  if (!isDefault) refuse(line, `RUN --${name}${value === '' ? '' : `=${value}`} is not supported`);
}

/** Runs a script by what its first line names, and leaves no file. */
const toProgram = (script: string): string =>
  `f=$(mktemp) && printf %s ${quoteWord(script)} >"$f" && chmod 755 "$f" && "$f"; s=$?; rm -f "$f"; exit $s`;
