// Usage: pnpm bench [--only NAME]… [--runs N] [--quick] [--install-references] [--json FILE] [--write] [--check]
//        pnpm bench --against CHECKOUT [--rounds N] [--only NAME]… [--runs N] [--quick]
// Measures skerry beside references in one run and prints a table; compare figures only within a run.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runAgainst } from './src/against.ts';
import { benchmarks } from './src/benchmarks.ts';
import { comparedProgram } from './src/compared-checkout.ts';
import type { Benchmark } from './src/harness/benchmark.ts';
import { describeMachine } from './src/report/machine.ts';
import { findStale, readReport, withRows, writeReport, writeRows } from './src/report/report.ts';
import { type Row, toAlignedText, toTable } from './src/report/row.ts';
import { type NamedBenchmark, runBenchmarks } from './src/run-benchmarks.ts';

const { values } = parseArgs({
  args: process.argv.slice(2).filter((word) => word !== '--'),
  options: {
    /** The names to measure; all by default. */
    only: { type: 'string', multiple: true },
    /** Samples of each benchmark, 20 by default; with `--against` those of each round, 5 by default. */
    runs: { type: 'string' },
    /** A tenth of the sizes, a quarter of the runs. */
    quick: { type: 'boolean', default: false },
    /** Downloads references that are not installed, and removes them again. */
    'install-references': { type: 'boolean', default: false },
    /** Saves the result and writes it to the pages; with `only`, those rows beside the others. */
    write: { type: 'boolean', default: false },
    /** Also writes the rows to this file, as a JSON array. */
    json: { type: 'string' },
    /** Another checkout: both services run, each benchmark runs alternately on them, and the table compares the two. */
    against: { type: 'string' },
    /** The number of rounds with `--against`. */
    rounds: { type: 'string', default: '8' },
    /** Measures nothing: checks that the pages match the saved result. */
    check: { type: 'boolean', default: false },
  },
});

if (values.check) {
  const stale = findStale(readReport());
  for (const path of stale) console.error(`the figures in ${path} differ from bench/results/latest.json`);
  process.exit(stale.length === 0 ? 0 : 1);
}

const names = values.only ?? Object.keys(benchmarks);
const unknown = names.filter((name) => !(name in benchmarks));
const rounds = Number(values.rounds);
const asked = Number(values.runs ?? (values.against === undefined ? 20 : 5));
const runs = Math.ceil(asked * (values.quick ? 0.25 : 1));
const scale = values.quick ? 0.1 : 1;
if (unknown.length > 0 || ![runs, rounds].every((count) => Number.isInteger(count) && count > 0)) {
  console.error(
    `unknown benchmark ${unknown.join(', ')} or bad --runs or --rounds; names: ${Object.keys(benchmarks).join(' ')}`,
  );
  process.exit(2);
}
if (values.write && values.quick) {
  console.error('--write saves full figures: do not combine it with --quick');
  process.exit(2);
}

if (values.against !== undefined && !existsSync(comparedProgram(values.against))) {
  console.error(`${comparedProgram(values.against)} is missing: --against needs a checkout that has it`);
  process.exit(2);
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort(signal));

function* announced(): Generator<NamedBenchmark> {
  for (const name of names) {
    console.error(`measuring ${name}`);
    yield { name, benchmark: benchmarks[name] as Benchmark };
  }
}

async function compare(checkout: string): Promise<void> {
  const here = join(import.meta.dirname, '..');
  const there = resolve(checkout);
  const compared = await runAgainst({ here, there, names, rounds, runs, scale, signal: stop.signal });
  const head = ['name', 'unit', 'here', 'there', 'here is worse by', 'bound', 'each round'];
  const lines = compared.map((row) => [
    row.name,
    row.unit,
    row.here,
    row.there,
    row.ratio,
    row.bound ?? '',
    row.rounds.join(' '),
  ]);
  console.log(toAlignedText([head, ...lines].map((cells) => cells.map(String))));
}

const machine = describeMachine();
const rows: Row[] = [];
const failed: string[] = [];
try {
  if (values.against !== undefined) {
    await compare(values.against);
    process.exit(0);
  }
  for await (const outcome of runBenchmarks(announced(), {
    runs,
    scale,
    installsReferences: values['install-references'],
    signal: stop.signal,
  })) {
    if ('rows' in outcome) rows.push(...outcome.rows);
    else {
      failed.push(outcome.name);
      console.error(outcome.error);
    }
  }
} catch (error) {
  if (!stop.signal.aborted) throw error;
  console.error(`stopped by ${String(stop.signal.reason)}; everything that was started has been removed`);
  process.exit(130);
}
console.log(toTable(machine, rows));
if (values.json !== undefined) writeRows(values.json, rows);
if (failed.length > 0) {
  console.error(`failed: ${failed.join(' ')}; this run is not saved`);
  process.exit(1);
}
if (values.write)
  writeReport(values.only === undefined ? { machine, rows } : withRows(readReport(), { machine, rows }));
process.exit(0);
