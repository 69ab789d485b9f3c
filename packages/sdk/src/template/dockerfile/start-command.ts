import { toCommand, toShellCommand } from './commands.ts';
import { type ParsedInstruction, parseJsonForm } from './instruction.ts';
import { refuse } from './refused.ts';

/** What CMD, ENTRYPOINT and HEALTHCHECK say, of which the last of each holds. */
export interface StartParts {
  entrypoint?: { text: string; shell: readonly string[] } | undefined;
  cmd?: { text: string; shell: readonly string[] } | undefined;
  ready?: string | undefined;
}

/** ENTRYPOINT with CMD as its arguments, as Docker joins them. Undefined without either. */
export function toStartCommand({ entrypoint, cmd }: StartParts): string | undefined {
  if (entrypoint === undefined) return cmd && (toShellCommand(cmd.text, cmd.shell) || undefined);
  const words = parseJsonForm(entrypoint.text);
  // The shell form takes no arguments.
  if (words === undefined) return toShellCommand(entrypoint.text, entrypoint.shell) || undefined;
  const more = cmd && (parseJsonForm(cmd.text) ?? (cmd.text === '' ? [] : [...cmd.shell, cmd.text]));
  const all = [...words, ...(more ?? [])];
  return all.length === 0 ? undefined : toCommand(all);
}

/** Its intervals do not apply: a template repeats its ready command every two seconds. Throws `DockerfileError`. */
export function toReadyCommand(
  { text, line }: ParsedInstruction,
  shell: readonly string[],
): string | undefined {
  const [, kind = '', command = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
  if (kind.toUpperCase() === 'NONE') return undefined;
  if (kind.toUpperCase() !== 'CMD' || command === '')
    refuse(line, 'HEALTHCHECK needs NONE, or CMD and a command');
  return toShellCommand(command, shell);
}
