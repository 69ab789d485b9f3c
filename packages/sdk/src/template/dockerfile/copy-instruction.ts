import type { TemplateStep } from '../definition.ts';
import { type ParsedInstruction, parseJsonForm } from './instruction.ts';
import { refuse } from './refused.ts';
import { type Scope, splitWords, toBuildText, toKnownText } from './scope.ts';

const archive = /\.(?:tar|tar\.(?:gz|bz2|xz|zst)|tgz|tbz2?|txz)$/i;
const octal = /^0?[0-7]{3,4}$/;

/** A step for each source. Throws `DockerfileError`. */
export function toCopySteps(instruction: ParsedInstruction, scope: Scope): TemplateStep[] {
  const { keyword, line, text, heredocs } = instruction;
  const { user, mode } = toOwner(instruction, scope);
  if (heredocs.length > 0 || text.startsWith('<<')) refuse(line, `${keyword} of a heredoc is not supported`);
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
  return words.map((parts) => {
    const word = toKnownText(parts, line);
    if (keyword === 'ADD') refuseRemote(word, line);
    // Docker reads every source below the context.
    const src = word.replace(/^\/+/, '') || '.';
    return { type: 'COPY', src, dest, user, mode, layout: 'flat', line };
  });
}

function refuseRemote(word: string, line: number): void {
  if (/^(?:\w+:\/\/|git@)/.test(word)) refuse(line, `ADD of a URL is not supported: "${word}"`);
  if (archive.test(word))
    refuse(line, `ADD, which unpacks an archive, is not supported: "${word}". Use COPY and RUN tar`);
}

function toOwner({ keyword, line, flags }: ParsedInstruction, scope: Scope): { user: string; mode: string } {
  // Docker copies as root, whatever USER says.
  const owner = { user: 'root', mode: '' };
  for (const { name, value } of flags) {
    const word = splitWords(value, scope, line)[0] ?? [];
    if (name === 'chown') owner.user = toKnownText(word, line);
    else if (name === 'chmod') owner.mode = toKnownText(word, line);
    // The files are the same with it: a template has no layers.
    else if (name !== 'link') refuse(line, `${keyword} --${name} is not supported`);
  }
  if (owner.mode !== '' && !octal.test(owner.mode))
    refuse(line, `${keyword} --chmod must be octal, got "${owner.mode}"`);
  return owner;
}
