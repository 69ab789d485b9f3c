/** One measured figure; `ratio` is its median against the reference's, measured in the same run. */
export interface Row {
  name: string;
  unit: string;
  p50: number;
  /** What 95 of 100 samples were at least as good as: the slow tail, also where more is better. */
  p95: number;
  n: number;
  reference?: string;
  ratio?: number;
}

/** Makes a row of samples; with a reference, both were taken in turn in this run. */
export function toRow(options: {
  name: string;
  unit: string;
  samples: number[];
  /** Default: less is better, as with times and sizes. */
  better?: 'less' | 'more';
  reference?: { name: string; samples: number[] };
}): Row {
  const { name, unit, samples, better = 'less', reference } = options;
  const p50 = percentile(samples, 0.5);
  const p95 = percentile(samples, better === 'less' ? 0.95 : 0.05);
  const row: Row = { name, unit, p50: round(p50), p95: round(p95), n: samples.length };
  if (!reference) return row;
  const referenceP50 = percentile(reference.samples, 0.5);
  return {
    ...row,
    reference: `${reference.name} ${round(referenceP50)} ${unit}`,
    ratio: round(p50 / referenceP50),
  };
}

export function percentile(samples: number[], fraction: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(fraction * sorted.length) - 1)] ?? Number.NaN;
}

const round = (value: number): number => Number(value.toPrecision(3));

/** Rows as an aligned text table. */
export function toTable(rows: Row[]): string {
  const cells = [
    ['name', 'unit', 'p50', 'p95', 'n', 'ratio', 'reference'],
    ...rows.map((row) =>
      [row.name, row.unit, row.p50, row.p95, row.n, row.ratio ?? '', row.reference ?? ''].map(String),
    ),
  ];
  const widths =
    cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? [];
  return cells
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
