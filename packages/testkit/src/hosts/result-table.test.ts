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
  const markdown = toMarkdown({
    results: results.slice(0, 2),
    shows: new Map([['boot', 'it boots']]),
    versions: { kernel: '6.1', systemd: '252', crun: '1.8.1', runc: '1.1.5' },
    revision: 'abc',
    date: '2026-11-22',
  });

  it('says when and on what it was run', () => {
    expect(markdown.split('\n')[0]).toBe(
      '2026-11-22, skerry abc: Linux 6.1, systemd 252, crun 1.8.1, runc 1.1.5; 1 passed, 1 failed, 0 skipped.',
    );
  });

  it('keeps every row on one line of four cells, whatever its note holds', () => {
    expect(markdown.split('\n').slice(2)).toEqual([
      '| Row | Shows | Result | Note |',
      '| --- | --- | --- | --- |',
      '| `boot` | it boots | ok, 44 s | in 44 s |',
      '| `create` |  | FAILED, 2 min | a \\| b second &lt;line> |',
    ]);
  });
});
