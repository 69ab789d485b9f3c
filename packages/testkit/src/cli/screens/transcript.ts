/** One line of a session, or what is run in place of the line that the reader sees. */
export type Line = string | { shown: string; run: string };

/**
 * The source of a bash program that shows each line as a user types it, then what it prints on either stream, and its status unless
 * that is 0. Variables of a line are there in the next.
 */
export const toScript = (lines: readonly Line[]): string =>
  lines
    .map((line) => (typeof line === 'string' ? { shown: line, run: line } : line))
    .map(
      ({ shown, run }) =>
        `printf '%s\\n' ${quote(`$ ${shown}`)}\n{ ${run}\n} 2>&1 || echo "[ended with $?]"\n`,
    )
    .join('');

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** An age in a table. The columns behind it move with its length. */
const age = /(?<= {2})(\d+)[smh](?= {2}|$)( *)/gm;

/** Strings at the end of a line whose length differs between runs or hosts. */
const amounts: [RegExp, string][] = [
  [/\b\d+[smh] ago$/gm, '0s ago'],
  [/\(\d+ s\)/g, '(0 s)'],
  [/\[\d+ s\]/g, '[0 s]'],
  [/\((\d+ %), \d+ s\)/g, '($1, 0 s)'],
  [/ready after \d+ ms/g, 'ready after 0 ms'],
  [/^(disk {7})\d+ MiB$/gm, '$10 MiB'],
  [/\b\d+\.\d MiB +/g, '0.0 MiB  '],
  [/^(built .*) in \d+ s$/gm, '$1 in 0 s'],
  [/(--isolation \w+) (?:works here|\(being tried; missing programs are fetched\))$/gm, '$1 works here'],
  // The line on a level that was tried meanwhile.
  [/^level \w+ works here: .*\n/gm, ''],
];

/** Replaced by text of the same length, so that lines break where they did. */
const names: [RegExp, string][] = [
  [/\bi[a-z0-9]{20}\b/g, 'isandboxsandboxsandbo'],
  [/\b(?=[a-z0-9]*\d)[a-z0-9]{20}\b/g, 'twentycharactersofid'],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '00000000-0000-0000-0000-000000000000'],
  [/\b[0-9a-f]{64}\b/g, '0'.repeat(64)],
  [/\b[0-9a-f]{32}\b/g, '0'.repeat(32)],
  [/\be2b_[0-9a-f]{40}\b/g, `e2b_${'0'.repeat(40)}`],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '2026-01-01T00:00:00.000Z'],
  [/\b(localhost|127\.0\.0\.1):\d{5}\b/g, '$1:40000'],
  // The thread and the line of the source, which OpenSSL puts before and behind its reason.
  [/\b[0-9A-F]{8,16}:error:/g, '00000000:error:'],
  [/\.c:\d+:/g, '.c:0:'],
];

/** The text with placeholders for what differs between two runs. `folder` is the one in which they were. */
export function withPlaceholders(text: string, folder: string): string {
  const masked = [...names, ...amounts].reduce(
    (before, [pattern, replacement]) => before.replace(pattern, replacement),
    text.replaceAll(folder, '/tmp/skerry-reader-folder'),
  );
  return masked.replace(
    age,
    (_, digits: string, spaces: string) =>
      `0s${spaces === '' ? '' : ' '.repeat(spaces.length + digits.length - 1)}`,
  );
}
