import { toText, type WordPart, writeWord } from '@skerry/platform-client/words';
import type { CopyStep, TemplateStep } from '../definition.ts';
import { isSet } from './flags.ts';
import { type ParsedHeredoc, toScript } from './heredoc.ts';
import { type ParsedInstruction, parseJsonForm } from './instruction.ts';
import { refuse } from './refused.ts';
import { type Scope, splitWords, toKnownText } from './scope.ts';

/** Octal, or symbolic as chmod(1) reads it. */
const modeForm =
  /^(?:[0-7]{1,5}|[ugoa]*(?:[-+=](?:[rwxXst]*|[ugo]))+(?:,[ugoa]*(?:[-+=](?:[rwxXst]*|[ugo]))+)*)$/;

interface CopyFlags {
  /** Words of which the build replaces what is not known here; empty for none. */
  user: string;
  mode: string;
  /** The name, number or image of `--from`. */
  from?: string;
  /** Whether ADD unpacks archives. */
  unpacks: boolean;
}

/** A step for each source. `findStage` returns the stage that `--from` names. Throws `DockerfileError`. */
export function toCopySteps(
  instruction: ParsedInstruction,
  scope: Scope,
  findStage: (from: string) => number,
): TemplateStep[] {
  const { keyword, line, text } = instruction;
  const { user, mode, from, unpacks } = toFlags(instruction, scope);
  const words = parsePaths(text, scope, line);
  const last = words.pop();
  if (last === undefined || words.length === 0)
    return refuse(line, `${keyword} needs a source and a destination`);
  const dest = toDestination(last, words.length, instruction);
  const heredocs = [...instruction.heredocs];
  return words.map((parts): TemplateStep => {
    // The words of heredocs are as they were written.
    const heredoc = heredocs[0] !== undefined && isStart(parts, heredocs[0]) ? heredocs.shift() : undefined;
    // Docker copies as root, whatever USER says.
    const owner = user || 'root';
    if (heredoc !== undefined) {
      if (from !== undefined) return refuse(line, `${keyword} --from does not go with a heredoc`);
      const args = [heredoc.delimiter, dest, owner, mode];
      return { type: 'COPY', args, content: toContent(heredoc, scope, line), line };
    }
    if (from !== undefined)
      return { type: 'COPY', args: [writeWord(parts), dest, user, mode], fromStage: findStage(from), line };
    const word = toKnownText(parts, line);
    if (keyword === 'ADD' && /^(?:\w+:\/\/|git@)/.test(word))
      refuse(line, `ADD of a URL is not supported: "${word}"`);
    const to = { type: 'COPY', src: toContextPath(word), dest, mode, layout: 'flat', line } as const;
    return unpacks ? { ...to, user, dockerfile: 'add' } : { ...to, user: owner, dockerfile: 'copy' };
  });
}

/** The words of the shell form, or of JSON. */
const parsePaths = (text: string, scope: Scope, line: number): WordPart[][] =>
  parseJsonForm(text)?.map((word) => splitWords(word, scope, line, { whole: true })[0] ?? []) ??
  splitWords(text, scope, line);

const isStart = (parts: readonly WordPart[], { word }: ParsedHeredoc): boolean =>
  toText(parts) === word.replaceAll(/["'\\]/g, '');

/** Docker reads every source below the context, also one that seems to leave it. */
const toContextPath = (path: string): CopyStep['src'] => path.replace(/^(?:\/|\.\.(?:\/|$))+/, '') || '.';

/** Several sources go into a folder, which ends with a slash or is the working folder. */
function toDestination(
  word: readonly WordPart[],
  sources: number,
  { keyword, line }: ParsedInstruction,
): string {
  const text = writeWord(word);
  if (sources === 1 || /(?:^|\/)\.{0,2}$/.test(text)) return text;
  // The build knows how that ends. It is a folder in any case.
  if (typeof word.at(-1) !== 'string') return `${text}/`;
  return refuse(line, `the destination of ${keyword} with several sources must end with "/"`);
}

/** The name in `--from` of COPY; none for an instruction without it. */
export const fromsOf = ({ keyword, flags }: ParsedInstruction): string[] =>
  keyword === 'COPY' ? flags.flatMap(({ name, value }) => (name === 'from' ? [value] : [])) : [];

/** Variables are replaced unless the delimiter is quoted. */
function toContent(heredoc: ParsedHeredoc, scope: Scope, line: number): string {
  const text = toScript(heredoc);
  return writeWord(heredoc.expands ? (splitWords(text, scope, line, { heredoc: true })[0] ?? []) : [text]);
}

function toFlags({ keyword, line, flags }: ParsedInstruction, scope: Scope): CopyFlags {
  const found: CopyFlags = { user: '', mode: '', unpacks: keyword === 'ADD' };
  for (const flag of flags) {
    const { name, value } = flag;
    const toWord = (): WordPart[] => splitWords(value, scope, line, { whole: true })[0] ?? [];
    if (name === 'chown') found.user = writeWord(toWord());
    else if (name === 'chmod') found.mode = toMode(toWord(), line);
    else if (name === 'from') found.from = value;
    else if (name === 'unpack') found.unpacks = isSet(flag, line);
    // The files are the same with "link": a template has no layers.
    else if (name !== 'link' || !isSet(flag, line)) requireUnset(keyword, flag, line);
  }
  return found;
}

function requireUnset(keyword: string, flag: { name: string; value: string }, line: number): void {
  if (flag.name === 'exclude' || flag.name === 'checksum' || isSet(flag, line))
    refuse(line, `${keyword} --${flag.name} is not supported`);
}

function toMode(word: readonly WordPart[], line: number): string {
  const text = toText(word);
  if (text !== undefined && !modeForm.test(text))
    refuse(line, `--chmod must be octal or symbolic as u=rwX,go=rX, got "${text}"`);
  return writeWord(word);
}
