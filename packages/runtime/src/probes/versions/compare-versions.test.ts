import { expect, it } from 'vitest';
import { compareVersions, isSafe } from './compare-versions.ts';
import { safeVersions } from './safe-versions.ts';

it('versions are compared number by number', () => {
  expect(compareVersions('1.10', '1.9')).toBeGreaterThan(0);
  expect(compareVersions('4.2', '4.2.0')).toBe(0);
  expect(compareVersions('6.1.179', '6.1.180')).toBeLessThan(0);
});

it.each([
  {
    table: { lineNumbers: 2, least: ['1.2.8', '1.3.3', '1.4.0'] },
    safe: ['1.2.8', '1.2.10', '1.3.3', '1.4.0', '1.4.7', '1.5.0', '2.0.0'],
    unsafe: ['1.2.7', '1.3.2', '1.1.99', '1.0.0', '0.1.1'],
  },
  {
    table: { lineNumbers: 1, least: ['22.23.4', '24.22.1', '26.12.1'] },
    safe: ['22.23.4', '22.24.0', '24.22.1', '26.12.1', '27.0.0'],
    unsafe: ['18.20.4', '22.23.3', '22.9.9', '24.21.0', '25.99.0', '26.12.0'],
  },
  { table: { lineNumbers: 1, least: ['1.31'] }, safe: ['1.31', '1.31.1', '2.0'], unsafe: ['1.30', '1.8.1'] },
  { table: { lineNumbers: 1, least: ['20260824'] }, safe: ['20260901'], unsafe: ['20240729'] },
])('a version is safe in its own line, or above all lines: $table.least', ({ table, safe, unsafe }) => {
  expect(safe.filter((version) => !isSafe(version, table))).toEqual([]);
  expect(unsafe.filter((version) => isSafe(version, table))).toEqual([]);
});

it('the table lists each program once, with its lines in order, a reason and a remedy', () => {
  const programs = safeVersions.map(({ program }) => program);
  expect(new Set(programs).size).toBe(programs.length);
  for (const { least, reason, mend } of safeVersions) {
    expect([...least].sort(compareVersions)).toEqual(least);
    expect(reason).not.toBe('');
    expect(mend).not.toBe('');
  }
});
