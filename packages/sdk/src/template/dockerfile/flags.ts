import { refuse } from './refused.ts';

/** The flags that each instruction has. Of the other instructions, what looks like a flag is an argument. */
const known: Readonly<Record<string, readonly string[]>> = {
  FROM: ['platform'],
  RUN: ['mount', 'network', 'security', 'device'],
  COPY: ['from', 'chown', 'chmod', 'link', 'parents', 'exclude'],
  ADD: ['chown', 'chmod', 'link', 'checksum', 'keep-git-dir', 'unpack', 'exclude'],
  HEALTHCHECK: ['interval', 'timeout', 'start-period', 'start-interval', 'retries'],
};

/**
 * Takes the flags from the beginning of the arguments: `--name` or `--name=value`, without the quotes and the escape characters in a value.
 * `--` alone ends them. Throws `DockerfileError` for a flag that the instruction does not have.
 */
export function splitFlags(
  text: string,
  { keyword, line, escapeChar }: { keyword: string; line: number; escapeChar: string },
): { flags: { name: string; value: string }[]; text: string } {
  const names = known[keyword];
  const flags: { name: string; value: string }[] = [];
  if (names === undefined) return { flags, text };
  let rest = text;
  while (rest.startsWith('--')) {
    const { word, after } = takeWord(rest, escapeChar);
    rest = after;
    if (word === '--') break;
    const [, name = '', value = ''] = /^--([^=]*)=?([\s\S]*)$/.exec(word) ?? [];
    if (!names.includes(name)) refuse(line, `${keyword} has no flag --${name}`);
    flags.push({ name, value });
  }
  return { flags, text: rest };
}

/** Whether a flag with an optional boolean is set. Throws `DockerfileError` for another value. */
export function isSet({ name, value }: { name: string; value: string }, line: number): boolean {
  if (value === '' || /^(?:1|t|true)$/i.test(value)) return true;
  return /^(?:0|f|false)$/i.test(value)
    ? false
    : refuse(line, `--${name} must be true or false, got "${value}"`);
}

function takeWord(text: string, escapeChar: string): { word: string; after: string } {
  let word = '';
  let quote = '';
  let at = 0;
  for (; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (char === escapeChar && at + 1 < text.length) {
      at += 1;
      word += text[at];
    } else if (quote === '' && /\s/.test(char)) break;
    else if (char === quote) quote = '';
    else if (quote === '' && (char === '"' || char === "'")) quote = char;
    else word += char;
  }
  return { word, after: text.slice(at).trimStart() };
}
