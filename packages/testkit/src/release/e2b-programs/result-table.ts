/** What became of one call of a program; `error` is the message of what it threw. */
export interface CallResult {
  call: string;
  error?: string;
}

/** Ids, ports and folders differ from run to run. */
const varying: readonly (readonly [pattern: RegExp, word: string])[] = [
  [/\bi[a-z0-9]{20}\b/g, 'ID'],
  [/\b127\.0\.0\.1:\d+/g, 'HOST'],
  [/\blocalhost:\d+/g, 'HOST'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UUID'],
];

/** The first line with content, in which everything that the next run would have otherwise is a word. */
const toReason = (error: string): string => {
  const line = error.split('\n').find((text) => text.trim() !== '') ?? 'an error without a message';
  const stable = varying.reduce((text, [pattern, word]) => text.replace(pattern, word), line);
  return stable.replaceAll('|', '\\|').replaceAll('<', '&lt;').trim();
};

/** Aligned as the formatter of the repository does it. */
const toTable = (rows: readonly (readonly [call: string, result: string])[]): string => {
  const callWidth = Math.max(...rows.map(([call]) => call.length));
  const resultWidth = Math.max(...rows.map(([, result]) => result.length));
  const toLine = (call: string, result: string): string =>
    `| ${call.padEnd(callWidth)} | ${result.padEnd(resultWidth)} |`;
  const [head, ...others] = rows.map(([call, result]) => toLine(call, result));
  return [head, toLine('-'.repeat(callWidth), '-'.repeat(resultWidth)), ...others].join('\n');
};

/** A table in Markdown for each program, below its name: the calls that were made, and `works` or the error of each. */
export const toResultTables = (
  programs: readonly { name: string; results: readonly CallResult[] }[],
): string =>
  programs
    .map(({ name, results }) => {
      const rows = results.map(({ call, error }): [string, string] => [
        `\`${call}\``,
        error === undefined ? 'works' : toReason(error),
      ]);
      return `### ${name}\n\n${toTable([['Call', 'Result'], ...rows])}`;
    })
    .join('\n\n');
