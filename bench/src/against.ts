import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { percentile, type Row } from './row.ts';

/** A figure of one run, as `--json` writes it. */
export type PlainRow = Pick<Row, 'name' | 'unit' | 'p50'>;

/** One figure of both checkouts; `ratio` is above 1 where this one is worse. */
export interface Comparison {
  name: string;
  unit: string;
  here: number;
  there: number;
  ratio: number;
  /** The ratio of each round, in order, which shows their spread. */
  rounds: number[];
}

/** Rates, densities and shares; in all other units less is better. */
const isMoreBetter = (unit: string): boolean => unit.endsWith('/s') || unit === '1/GiB' || unit === '%';

/**
 * Runs each benchmark alternately in this checkout and in another, `rounds` times, so that both meet the same load of the
 * machine. The order changes with each round. Rejects when a run fails, after everything it started has been removed.
 */
export async function runAgainst(options: {
  here: string;
  /** A checkout with its packages installed and built, and with `--json`. */
  there: string;
  names: readonly string[];
  rounds: number;
  runs: number;
  quick: boolean;
  signal: AbortSignal;
}): Promise<Comparison[]> {
  const { here, there, names, rounds, ...rest } = options;
  const pairs: { here: PlainRow[]; there: PlainRow[] }[] = [];
  for (const name of names)
    for (let round = 0; round < rounds; round++) {
      console.error(`measuring ${name}, round ${round + 1} of ${rounds}`);
      const first = await runOne(round % 2 === 0 ? there : here, name, rest);
      const second = await runOne(round % 2 === 0 ? here : there, name, rest);
      const pair = round % 2 === 0 ? { there: first, here: second } : { here: first, there: second };
      for (const row of compareRounds([pair]))
        console.error(`${row.name}: here ${row.here}, there ${row.there} ${row.unit}, worse by ${row.ratio}`);
      pairs.push(pair);
    }
  return compareRounds(pairs);
}

async function runOne(
  checkout: string,
  name: string,
  { runs, quick, signal }: { runs: number; quick: boolean; signal: AbortSignal },
): Promise<PlainRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-bench-'));
  try {
    const file = join(folder, 'rows.json');
    const args = ['bench/main.ts', '--only', name, '--runs', String(runs), '--json', file];
    const child = spawn(process.execPath, quick ? [...args, '--quick'] : args, {
      cwd: checkout,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    // The run removes everything it started before it ends, so it gets a signal and is awaited.
    const stop = () => child.kill('SIGTERM');
    signal.addEventListener('abort', stop, { once: true });
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve);
    });
    signal.removeEventListener('abort', stop);
    signal.throwIfAborted();
    if (code !== 0) throw new Error(`${name} in ${checkout} ended with ${code}`);
    return JSON.parse(readFileSync(file, 'utf8')) as PlainRow[];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Compares the medians over all rounds. A figure that one side did not measure is omitted. */
export function compareRounds(pairs: readonly { here: PlainRow[]; there: PlainRow[] }[]): Comparison[] {
  const figures = new Map<string, { unit: string; here: number[]; there: number[] }>();
  for (const pair of pairs)
    for (const { name, unit, p50 } of pair.here) {
      const other = pair.there.find((row) => row.name === name)?.p50;
      if (p50 === null || other === null || other === undefined) continue;
      const figure = figures.get(name) ?? { unit, here: [], there: [] };
      figure.here.push(p50);
      figure.there.push(other);
      figures.set(name, figure);
    }
  return [...figures].map(([name, { unit, here, there }]) => {
    const toRatio = (one: number, other: number) =>
      Number((isMoreBetter(unit) ? other / one : one / other).toPrecision(3));
    const medians = { here: percentile(here, 0.5), there: percentile(there, 0.5) };
    return {
      ...{ name, unit, ...medians },
      ratio: toRatio(medians.here, medians.there),
      rounds: here.map((figure, round) => toRatio(figure, there[round] as number)),
    };
  });
}
