import { type ComparedCheckout, type ComparedRow, startComparedCheckout } from './compared-checkout.ts';
import { percentile } from './report/row.ts';

interface Both<T> {
  here: T;
  there: T;
}

/** The figures of a round. */
type Pair = Both<ComparedRow[]>;

/** One figure of both checkouts; `ratio` is above 1 where this one is worse. */
export interface Comparison {
  name: string;
  unit: string;
  here: number;
  there: number;
  ratio: number;
  /** The bound of `Row` in this checkout. */
  bound?: string | undefined;
  /** The ratio of each round, in order, which shows their spread. */
  rounds: number[];
}

/** Rates, densities and shares; in all other units less is better. */
const isMoreBetter = (unit: string): boolean => unit.endsWith('/s') || unit === '1/GiB' || unit === '%';

/**
 * Starts the services of two checkouts and runs each benchmark alternately on them, `rounds` times after one that does not count, so
 * that both meet the same load of the machine. The order changes with each round. Rejects when a benchmark fails or `signal` aborts, after
 * everything that was started has been removed.
 */
export async function runAgainst(options: {
  here: string;
  /** A checkout with its packages installed and built. */
  there: string;
  names: readonly string[];
  rounds: number;
  /** The samples of a round. */
  runs: number;
  scale: number;
  signal: AbortSignal;
}): Promise<Comparison[]> {
  const { names, rounds, ...rest } = options;
  await using services = new AsyncDisposableStack();
  const here = services.use(await startComparedCheckout(options.here, rest));
  const there = services.use(await startComparedCheckout(options.there, rest));
  const compared: Comparison[] = [];
  for (const name of names) {
    const pairs: Pair[] = [];
    for (let round = -1; round < rounds; round++) {
      const pair = await measureBoth(name, { here, there }, round % 2 === 0);
      if (round >= 0) pairs.push(pair);
    }
    const rows = compareRounds(pairs);
    for (const row of rows) console.error(`${row.name}: worse by ${row.ratio} (${row.rounds.join(' ')})`);
    compared.push(...rows);
  }
  return compared;
}

async function measureBoth(
  name: string,
  checkouts: Both<ComparedCheckout>,
  isHereFirst: boolean,
): Promise<Pair> {
  if (isHereFirst) {
    const here = await checkouts.here.measure(name);
    return { here, there: await checkouts.there.measure(name) };
  }
  const there = await checkouts.there.measure(name);
  return { here: await checkouts.here.measure(name), there };
}

/** The 95th percentile of fewer samples is their maximum. */
const SAMPLES_OF_TAIL = 20;

/**
 * Compares the medians over all rounds; the ratio is the median of the rounds' ratios, as the two of a round meet about the same load.
 * Rows of at least 20 samples a round have a second figure, `NAME p95`. A figure that one side did not measure is omitted.
 */
export function compareRounds(pairs: readonly Pair[]): Comparison[] {
  const figures = new Map<string, Both<number[]> & { row: ComparedRow }>();
  for (const pair of pairs) {
    const there = new Map(pair.there.flatMap(toFigures).map(({ name, value }) => [name, value]));
    for (const row of pair.here)
      for (const { name, value } of toFigures(row)) {
        const other = there.get(name);
        if (other === undefined) continue;
        const figure = figures.get(name) ?? { row: { ...row, name }, here: [], there: [] };
        figure.here.push(value);
        figure.there.push(other);
        figures.set(name, figure);
      }
  }
  return [...figures.values()].map(({ row: { name, unit, bound }, here, there }) => {
    const rounds = here.map((figure, round) => {
      const other = there[round] as number;
      return Number((isMoreBetter(unit) ? other / figure : figure / other).toPrecision(3));
    });
    const medians = { here: percentile(here, 0.5), there: percentile(there, 0.5) };
    return { name, unit, bound, ...medians, ratio: percentile(rounds, 0.5), rounds };
  });
}

function toFigures({ name, p50, p95, n }: ComparedRow): { name: string; value: number }[] {
  const figures = p50 === null ? [] : [{ name, value: p50 }];
  if (p95 !== null && n >= SAMPLES_OF_TAIL) figures.push({ name: `${name} p95`, value: p95 });
  return figures;
}
