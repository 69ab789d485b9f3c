import { describe, expect, it } from 'vitest';
import { toCounts, toDuration, toHostTable, toMarkdown } from './result-table.ts';
import type { RowResult } from './row-result.ts';

const results: RowResult[] = [
  { host: 'old', row: 'boot', outcome: 'passed', durationMs: 44_400, note: 'in 44 s' },
  { host: 'old', row: 'create', outcome: 'failed', durationMs: 130_000, note: 'a | b\nsecond <line>' },
  { host: 'new', row: 'boot', outcome: 'skipped', durationMs: 0, note: '' },
];

describe('the table of hosts and rows', () => {
  it('has a column for each host and a dash where nothing was run', () => {
    expect(toHostTable(results)).toBe(
      ['        old           new', 'boot    ok 44 s       skipped', 'create  FAILED 2 min  -'].join('\n'),
    );
  });

  it('ends with counts of what became of the rows', () => {
    expect(toCounts(results)).toBe('1 passed, 1 failed, 1 skipped');
    expect(toCounts([])).toBe('0 passed, 0 failed, 0 skipped');
  });

  it('has seconds up to two minutes', () => {
    expect([119_400, 119_600, 3_600_000].map(toDuration)).toEqual(['119 s', '2 min', '60 min']);
  });
});

describe('the table of one host in Markdown', () => {
  const versions = { kernel: '6.1', systemd: '252', crun: '1.8.1', runc: '1.1.5' };
  const shows = new Map([
    ['boot', 'it boots'],
    ['create', ''],
    ['down', 'nothing is left'],
  ]);
  const markdown = toMarkdown({
    results: results.slice(0, 2),
    before:
      '| `down`   | nothing is left | ok, 9 s | 2026-11-01, 123 | a \\| b |\n| `boot` | it boots | FAILED, 1 s | x | |',
    shows,
    versions,
    revision: 'abc',
    date: '2026-11-22',
  });

  it('says on what it was run, and counts all rows', () => {
    expect(markdown.split('\n')[0]).toBe(
      'Linux 6.1, systemd 252, crun 1.8.1, runc 1.1.5: 2 passed, 1 failed, 0 skipped.',
    );
  });

  it('keeps every row on one line of five cells, and those of an earlier run that this one has not', () => {
    expect(markdown.split('\n').slice(2)).toEqual([
      '| Row | Shows | Result | Run | Note |',
      '| --- | --- | --- | --- | --- |',
      '| `boot` | it boots | ok, 44 s | 2026-11-22, abc | in 44 s |',
      '| `create` |  | FAILED, 2 min | 2026-11-22, abc | a \\| b second &lt;line> |',
      '| `down` | nothing is left | ok, 9 s | 2026-11-01, 123 | a \\| b |',
    ]);
  });
});
