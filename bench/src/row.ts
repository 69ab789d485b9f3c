import type { Machine } from './machine.ts';

/** What a figure has to reach: a ratio to its reference, or a median in its own unit. Exactly one of the two limits is set. */
export interface Bound {
  of: 'ratio' | 'p50';
  atMost?: number;
  atLeast?: number;
}

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
  /** As people read it, such as `≤ 1.3 ×`. */
  bound?: string;
  isMet?: boolean;
}

/** Makes a row of samples; with a reference, both were taken in turn in this run. */
export function toRow(options: {
  name: string;
  unit: string;
  samples: number[];
  /** Default: less is better, as with times and sizes. */
  better?: 'less' | 'more';
  reference?: { name: string; samples: number[] };
  bound?: Bound;
}): Row {
  const { name, unit, samples, better = 'less', reference, bound } = options;
  if (samples.length === 0) throw new Error(`${name} has no samples`);
  const p50 = percentile(samples, 0.5);
  const p95 = percentile(samples, better === 'less' ? 0.95 : 0.05);
  const row: Row = { name, unit, p50: round(p50), p95: round(p95), n: samples.length };
  const ratio = reference && p50 / percentile(reference.samples, 0.5);
  if (reference && ratio !== undefined) {
    row.reference = `${reference.name} ${round(percentile(reference.samples, 0.5))} ${unit}`;
    row.ratio = round(ratio);
  }
  if (bound) Object.assign(row, judge(bound, { ratio, p50, unit }));
  return row;
}

/** By the figures before they are rounded. */
function judge(
  { of, atMost, atLeast }: Bound,
  { ratio, p50, unit }: { ratio: number | undefined; p50: number; unit: string },
): Pick<Row, 'bound' | 'isMet'> {
  const figure = of === 'ratio' ? ratio : p50;
  if (figure === undefined) throw new Error('a bound of a ratio needs a reference');
  const isMet = figure <= (atMost ?? Number.POSITIVE_INFINITY) && figure >= (atLeast ?? 0);
  return {
    bound: `${atMost === undefined ? '≥' : '≤'} ${atMost ?? atLeast} ${of === 'ratio' ? '×' : unit}`,
    isMet,
  };
}

export function percentile(samples: number[], fraction: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(fraction * sorted.length) - 1)] ?? Number.NaN;
}

const round = (value: number): number => Number(value.toPrecision(3));

const toVerdict = ({ isMet }: Row): string => (isMet === undefined ? '' : isMet ? 'met' : 'MISSED');

/** A line that describes the machine, and the rows as an aligned text table. */
export function toTable(machine: Machine, rows: Row[]): string {
  const { cpu, cores, memoryGiB, kernel, node, load } = machine;
  const line = `${cpu}, ${cores} cores, ${memoryGiB} GiB, Linux ${kernel}, Node ${node}, load ${load}`;
  return `${line}\n\n${align(rows)}`;
}

function align(rows: Row[]): string {
  const cells = [
    ['name', 'unit', 'p50', 'p95', 'n', 'ratio', 'bound', '', 'reference'],
    ...rows.map((row) =>
      [
        row.name,
        row.unit,
        row.p50,
        row.p95,
        row.n,
        row.ratio ?? '',
        row.bound ?? '',
        toVerdict(row),
        row.reference ?? '',
      ].map(String),
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
