import type { HostVersions, RowResult } from './row-result.ts';

const marks = { passed: 'ok', failed: 'FAILED', skipped: 'skipped' } as const;
const NOTE_CHARACTERS = 160;

/** `75 s` or `12 min`. */
export function toDuration(durationMs: number): string {
  const seconds = Math.round(durationMs / 1000);
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

/** The counts of a run, as its last line has them. */
export function toCounts(results: readonly RowResult[]): string {
  const count = (outcome: RowResult['outcome']): number =>
    results.filter((result) => result.outcome === outcome).length;
  return `${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`;
}

/** A table of hosts and rows for a terminal: what became of each, and how long it took. */
export function toHostTable(results: readonly RowResult[]): string {
  const hosts = [...new Set(results.map(({ host }) => host))];
  const rows = [...new Set(results.map(({ row }) => row))];
  const cell = (host: string, row: string): string => {
    const result = results.find((found) => found.host === host && found.row === row);
    if (!result) return '-';
    const { outcome, durationMs } = result;
    return outcome === 'skipped' ? marks.skipped : `${marks[outcome]} ${toDuration(durationMs)}`;
  };
  const table = [['', ...hosts], ...rows.map((row) => [row, ...hosts.map((host) => cell(host, row))])];
  const widths =
    table[0]?.map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0))) ?? [];
  return table
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/**
 * One host's table in Markdown, under a line that says on what it was run. Each row says when and with which skerry it was run:
 * rows of `before`, which is such a table, stay where `results` has none of that name.
 */
export function toMarkdown(options: {
  results: readonly RowResult[];
  before: string;
  /** The name of each row → what the row tests. The table has only these rows, in this order. */
  shows: ReadonlyMap<string, string>;
  versions: HostVersions;
  /** The revision of skerry, as `git describe` has it. */
  revision: string;
  date: string;
}): string {
  const { results, before, shows, versions, revision, date } = options;
  const { kernel, systemd, crun, runc } = versions;
  const fresh = results.map(({ row, outcome, durationMs, note }) => {
    const became = outcome === 'skipped' ? marks.skipped : `${marks[outcome]}, ${toDuration(durationMs)}`;
    return [row, [became, `${date}, ${revision}`, toCell(note)]] as const;
  });
  const cells = new Map<string, readonly string[]>([...readRows(before), ...fresh]);
  const rows = [...shows].flatMap(([row, shown]) => {
    const found = cells.get(row);
    return found === undefined ? [] : [[`\`${row}\``, shown, ...found]];
  });
  const count = (mark: string): number => rows.filter((row) => row[2]?.startsWith(mark)).length;
  return `Linux ${kernel}, systemd ${systemd}, crun ${crun}, runc ${runc}: ${count(marks.passed)} passed, ${count(marks.failed)} failed, ${count(marks.skipped)} skipped.

| Row | Shows | Result | Run | Note |
| --- | --- | --- | --- | --- |
${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}`;
}

/** The rows of such a table: name → the cells from the result on. */
function readRows(table: string): [string, string[]][] {
  return table.split('\n').flatMap((line) => {
    const [, name = '', , ...rest] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    const row = /^`([\w-]+)`$/.exec(name)?.[1];
    return row === undefined ? [] : [[row, rest.slice(0, 3)] as [string, string[]]];
  });
}

/** One line, with nothing in it that would end a cell of a table. */
function toCell(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const cut = line.length > NOTE_CHARACTERS ? `${line.slice(0, NOTE_CHARACTERS - 1)}…` : line;
  return cut.replaceAll('\\', '\\\\').replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
