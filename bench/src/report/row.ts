import type { Machine } from './machine.ts';

/** A bound of a figure: a ratio to its reference, or a value in its own unit. Exactly one of the two limits is set. */
export interface Bound {
  of: 'ratio' | 'p50' | 'p95';
  atMost?: number;
  atLeast?: number;
}

/** One measured figure; `ratio` is its median divided by the reference's, measured in the same run. */
export interface Row {
  name: string;
  unit: string;
  /** Null when it was not measured; `note` is then the reason. */
  p50: number | null;
  /** The value that 95 of 100 samples reach or beat: the slow tail, also where more is better. */
  p95: number | null;
  n: number;
  reference?: string;
  ratio?: number;
  /** The bound as it is shown, such as `≤ 1.3 ×`. */
  bound?: string;
  isMet?: boolean;
  /** Why it was not measured, or why it misses a bound. */
  note?: string;
}

/** Makes a row from samples; those of a reference were taken alternately in this run. */
export function toRow(options: {
  name: string;
  unit: string;
  samples: number[];
  /** Default: less is better, as for times and sizes. */
  better?: 'less' | 'more';
  reference?: { name: string; samples: number[] } | undefined;
  bound?: Bound | readonly Bound[];
  /** Why the figure is not better; shown only when a bound is missed. */
  ifMissed?: string;
}): Row {
  const { name, unit, samples, better = 'less', reference, bound = [], ifMissed } = options;
  const bounds = [bound].flat();
  if (samples.length === 0) throw new Error(`${name} has no samples`);
  const p50 = percentile(samples, 0.5);
  const p95 = percentile(samples, better === 'less' ? 0.95 : 0.05);
  const row: Row = { name, unit, p50: round(p50), p95: round(p95), n: samples.length };
  const ratio = reference && p50 / percentile(reference.samples, 0.5);
  if (reference && ratio !== undefined) {
    row.reference = `${reference.name} ${round(percentile(reference.samples, 0.5))} ${unit}`;
    row.ratio = round(ratio);
  }
  if (bounds.length > 0) {
    row.bound = bounds.map((each) => toText(each, unit)).join(', ');
    row.isMet = bounds.every((each) => holds(each, { ratio, p50, p95 }));
    if (!row.isMet && ifMissed !== undefined) row.note = ifMissed;
  }
  return row;
}

/** A row that could not be measured here. */
export const toUnmeasuredRow = (options: { name: string; unit: string; reason: string }): Row => ({
  name: options.name,
  unit: options.unit,
  p50: null,
  p95: null,
  n: 0,
  note: `not measured: ${options.reason}`,
});

/** Uses the figures before rounding. */
function holds(
  { of, atMost, atLeast }: Bound,
  figures: { ratio: number | undefined; p50: number; p95: number },
): boolean {
  const figure = figures[of];
  if (figure === undefined) throw new Error('a bound of a ratio needs a reference');
  return figure <= (atMost ?? Number.POSITIVE_INFINITY) && figure >= (atLeast ?? Number.NEGATIVE_INFINITY);
}

const toText = ({ of, atMost, atLeast }: Bound, unit: string): string =>
  `${of === 'p95' ? 'p95 ' : ''}${atMost === undefined ? '≥' : '≤'} ${atMost ?? atLeast} ${of === 'ratio' ? '×' : unit}`;

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
  const notes = rows.flatMap(({ name, note }) => (note === undefined ? [] : [`${name}: ${note}`]));
  return [line, align(rows), ...(notes.length > 0 ? [notes.join('\n')] : [])].join('\n\n');
}

function align(rows: Row[]): string {
  const cells = [
    ['name', 'unit', 'p50', 'p95', 'n', 'ratio', 'bound', '', 'reference'],
    ...rows.map((row) =>
      [
        row.name,
        row.unit,
        row.p50 ?? '–',
        row.p95 ?? '–',
        row.n,
        row.ratio ?? '',
        row.bound ?? '',
        toVerdict(row),
        row.reference ?? '',
      ].map(String),
    ),
  ];
  return toAlignedText(cells);
}

/** Pads the cells of each column to one width. */
export function toAlignedText(cells: readonly string[][]): string {
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
