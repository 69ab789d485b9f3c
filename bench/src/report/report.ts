import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toFigures } from './figures.ts';
import type { Machine } from './machine.ts';
import type { Row } from './row.ts';

/** The result of a full run, in which later runs of single benchmarks may have replaced rows. */
export interface Report {
  machine: Machine;
  rows: ReportedRow[];
}

/** `machine` is set for a row of another run than that of the report. */
export type ReportedRow = Row & { machine?: Machine };

const root = join(import.meta.dirname, '../../..');
const kept = join(root, 'bench/results/latest.json');
/** The pages with figures between markers. */
const pages = ['README.md', 'docs/performance.md', 'packages/envd/README.md'];

export const readReport = (): Report => JSON.parse(readFileSync(kept, 'utf8')) as Report;

/** Saves a run, and writes its figures to the pages. */
export function writeReport(report: Report): void {
  writeFileSync(kept, `${JSON.stringify(report, null, 2)}\n`);
  for (const page of pages) {
    const path = join(root, page);
    writeFileSync(path, toFigures(readFileSync(path, 'utf8'), report));
  }
}

/** The report with the rows of a later run in place of those with the same names, or at the end; all others stay. */
export function withRows(
  report: Report,
  { machine, rows }: { machine: Machine; rows: readonly Row[] },
): Report {
  const later = new Map(rows.map((row) => [row.name, { ...row, machine }]));
  const kept = report.rows.map((row) => {
    const replaced = later.get(row.name);
    later.delete(row.name);
    return replaced ?? row;
  });
  return { ...report, rows: [...kept, ...later.values()] };
}

/**
 * Writes rows as a JSON array of `{ name, unit, p50, p95, n, reference?, ratio? }`, for programs that compare runs. A
 * row that was not measured has null for its figures.
 */
export function writeRows(path: string, rows: readonly Row[]): void {
  const plain = rows.map(({ name, unit, p50, p95, n, reference, ratio }) => ({
    ...{ name, unit, p50, p95, n },
    ...(reference !== undefined && { reference }),
    ...(ratio !== undefined && { ratio }),
  }));
  writeFileSync(path, `${JSON.stringify(plain, null, 2)}\n`);
}

/** The pages whose figures differ from the report. */
export function findStale(report: Report): string[] {
  return pages.filter((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    return toFigures(text, report) !== text;
  });
}
