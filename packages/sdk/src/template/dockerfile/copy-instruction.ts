import type { TemplateStep } from '../definition.ts';
import { toScript } from './commands.ts';
import { type ParsedHeredoc, type ParsedInstruction, parseJsonForm } from './instruction.ts';
import { refuse } from './refused.ts';
import { type Scope, splitWords, toBuildText, toKnownText } from './scope.ts';

const octal = /^0?[0-7]{3,4}$/;

interface CopyFlags {
  user: string;
  mode: string;
  /** The name, number or image of `--from`. */
  from?: string;
}

/** A step for each source. `findStage` returns the stage that `--from` names. Throws `DockerfileError`. */
export function toCopySteps(
  instruction: ParsedInstruction,
  scope: Scope,
  findStage: (from: string) => number,
): TemplateStep[] {
  const { keyword, line, text } = instruction;
  const { user, mode, from } = toFlags(instruction, scope);
  const words =
    parseJsonForm(text)?.map((word) => splitWords(word, scope, line, { whole: true })[0] ?? []) ??
    splitWords(text, scope, line);
  const last = words.pop();
  if (last === undefined || words.length === 0)
    return refuse(line, `${keyword} needs a source and a destination`);
  // The build replaces variables in the destination only.
  const dest = toBuildText(last, line);
  if (words.length > 1 && !dest.endsWith('/'))
    refuse(line, `the destination of ${keyword} with several sources must end with "/"`);
  const heredocs = [...instruction.heredocs];
  return words.map((parts): TemplateStep => {
    const word = toKnownText(parts, line);
    // Docker copies as root, whatever USER says.
    const to = { type: 'COPY', dest, user: user || 'root', mode, layout: 'flat', line } as const;
    if (word.startsWith('<<')) {
      const heredoc = heredocs.shift();
      if (from !== undefined || keyword === 'ADD' || heredoc === undefined)
        return refuse(line, `${keyword} of a heredoc is not supported here`);
      const content = toContent(heredoc, scope, line);
      return { ...to, src: heredoc.delimiter, content, dockerfile: 'copy' };
    }
    if (from !== undefined)
      return { type: 'COPY', args: [word, dest, user, mode], fromStage: findStage(from), line };
    // Docker reads every source below the context.
    const src = word.replace(/^\/+/, '') || '.';
    if (keyword === 'COPY') return { ...to, src, dockerfile: 'copy' };
    if (/^(?:\w+:\/\/|git@)/.test(word)) refuse(line, `ADD of a URL is not supported: "${word}"`);
    return { ...to, user, src, dockerfile: 'add' };
  });
}

/** The name in `--from` of COPY; undefined for an instruction without it. */
export const fromOf = ({ keyword, flags }: ParsedInstruction): string | undefined =>
  keyword === 'COPY' ? flags.find(({ name }) => name === 'from')?.value : undefined;

/** Variables are replaced unless the delimiter is quoted. */
function toContent(heredoc: ParsedHeredoc, scope: Scope, line: number): string {
  const text = toScript(heredoc);
  if (/["']/.test(heredoc.operator)) return text;
  return toKnownText(splitWords(text, scope, line, { whole: true, raw: true })[0] ?? [], line);
}

function toFlags({ keyword, line, flags }: ParsedInstruction, scope: Scope): CopyFlags {
  const found: CopyFlags = { user: '', mode: '' };
  for (const { name, value } of flags) {
    const word = splitWords(value, scope, line)[0] ?? [];
    if (name === 'chown') found.user = toKnownText(word, line);
    else if (name === 'chmod') found.mode = toKnownText(word, line);
    else if (name === 'from' && keyword === 'COPY') found.from = value;
    // The files are the same with it: a template has no layers.
    else if (name !== 'link') refuse(line, `${keyword} --${name} is not supported`);
  }
  if (found.mode !== '' && !octal.test(found.mode))
    refuse(line, `${keyword} --chmod must be octal, got "${found.mode}"`);
  return found;
}
