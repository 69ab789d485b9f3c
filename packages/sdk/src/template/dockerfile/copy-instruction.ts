import { posix } from 'node:path';
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
  /** Whether ADD unpacks archives. Undefined: those of the context alone. */
  unpacks?: boolean;
  /** Whether each file keeps the path of its source below the destination. */
  parents: boolean;
  /** Patterns of what is not copied. */
  excludes: string[];
  /** The digest that the file of a URL must have. */
  checksum?: string;
}

/** A step for each source. `findStage` returns the stage that `--from` names. Throws `DockerfileError`. */
export function toCopySteps(
  instruction: ParsedInstruction,
  scope: Scope,
  { findStage, fetchUrls }: { findStage: (from: string) => number; fetchUrls: boolean },
): TemplateStep[] {
  const { keyword, line, text } = instruction;
  const flags = toFlags(instruction, scope);
  const { user, mode, from, unpacks = keyword === 'ADD', parents, excludes, checksum } = flags;
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
    const common = { type: 'COPY', dest, mode, ...(excludes.length > 0 && { excludes }), line } as const;
    const url = keyword === 'ADD' ? parseUrl(word, line) : undefined;
    if (url !== undefined) {
      if (!fetchUrls)
        refuse(line, `ADD of the URL "${word}": allow that this program fetches it, with "fetchUrls"`);
      const remote = { url, ...(checksum !== undefined && { checksum }) };
      const src = toRemoteName(url);
      // Docker gives these files no other mode, and leaves archives as they are.
      return flags.unpacks
        ? { ...common, src, user, layout: 'flat', dockerfile: 'add', remote }
        : { ...common, src, user: owner, mode: mode || '600', layout: 'flat', dockerfile: 'copy', remote };
    }
    if (checksum !== undefined) refuse(line, `ADD --checksum is for the file of a URL, not for "${word}"`);
    if (parents)
      return { ...common, src: toPivotPath(word), user: owner, layout: 'parents', dockerfile: 'copy' };
    const to = { ...common, src: toContextPath(word), layout: 'flat' } as const;
    return unpacks ? { ...to, user, dockerfile: 'add' } : { ...to, user: owner, dockerfile: 'copy' };
  });
}

/** The URL of a file; undefined for a path. Throws `DockerfileError` for any other. */
function parseUrl(word: string, line: number): string | undefined {
  if (!/^(?:\w+:\/\/|git@)/.test(word)) return undefined;
  const url = /^https?:/i.test(word) && URL.canParse(word) ? new URL(word) : undefined;
  if (url === undefined || /\.git$/.test(url.pathname))
    return refuse(line, `ADD of a URL is for http and https, and not for Git: "${word}"`);
  if (url.username !== '' || url.password !== '')
    refuse(line, 'ADD of a URL with a user or a password is not supported');
  return url.href;
}

/** The name that a file has when its destination is a folder. */
function toRemoteName(url: string): string {
  const [last = ''] = new URL(url).pathname.split('/').slice(-1);
  const name = posix.basename(decodeName(last));
  return name === '' || name === '.' || name === '..' || name.includes('\0') ? '__unnamed__' : name;
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The words of the shell form, or of JSON. */
const parsePaths = (text: string, scope: Scope, line: number): WordPart[][] =>
  parseJsonForm(text)?.map((word) => splitWords(word, scope, line, { whole: true })[0] ?? []) ??
  splitWords(text, scope, line);

const isStart = (parts: readonly WordPart[], { word }: ParsedHeredoc): boolean =>
  toText(parts) === word.replaceAll(/["'\\]/g, '');

/** Docker reads every source below the context, also one that seems to leave it. */
const toContextPath = (path: string): CopyStep['src'] => path.replace(/^(?:\/|\.\.(?:\/|$))+/, '') || '.';

/** The path below the context, with the `/./` before the part of it that is kept. */
const toPivotPath = (path: string): string => {
  const [before = '', after] = path.split(/\/\.\/(.*)/s);
  return after === undefined ? toContextPath(path) : `${toContextPath(before)}/./${after}`;
};

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
  const found: CopyFlags = { user: '', mode: '', parents: false, excludes: [] };
  for (const flag of flags) {
    const { name, value } = flag;
    const toWord = (): WordPart[] => splitWords(value, scope, line, { whole: true })[0] ?? [];
    if (name === 'chown') found.user = writeWord(toWord());
    else if (name === 'chmod') found.mode = toMode(toWord(), line);
    else if (name === 'from') found.from = value;
    else if (name === 'unpack') found.unpacks = isSet(flag, line);
    else if (name === 'parents') found.parents = isSet(flag, line);
    else if (name === 'exclude') found.excludes.push(toKnownText(toWord(), line));
    else if (name === 'checksum') found.checksum = toChecksum(toKnownText(toWord(), line), line);
    // The files are the same with "link": a template has no layers.
    else if (name !== 'link' || !isSet(flag, line)) requireUnset(keyword, flag, line);
  }
  if (found.from !== undefined && (found.parents || found.excludes.length > 0))
    refuse(line, `${keyword} --from does not go with --parents and --exclude here`);
  return found;
}

/** Throws `DockerfileError` for a flag that is set and not supported. */
function requireUnset(keyword: string, flag: { name: string; value: string }, line: number): void {
  if (isSet(flag, line)) refuse(line, `${keyword} --${flag.name} is not supported`);
}

const toChecksum = (text: string, line: number): string =>
  /^sha256:[0-9a-f]{64}$/.test(text)
    ? text
    : refuse(line, `--checksum must be sha256: and 64 lower-case hex digits, got "${text}"`);

function toMode(word: readonly WordPart[], line: number): string {
  const text = toText(word);
  if (text !== undefined && !modeForm.test(text))
    refuse(line, `--chmod must be octal or symbolic as u=rwX,go=rX, got "${text}"`);
  return writeWord(word);
}
