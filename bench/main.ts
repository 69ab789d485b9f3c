// Usage: pnpm bench [--only NAME]… [--runs N] [--quick] [--install-references] [--json FILE] [--write] [--check]
//        pnpm bench --against CHECKOUT [--rounds N] [--only NAME]… [--runs N] [--quick]
// Measures skerry beside references in one run and prints a table; compare figures only within a run.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runAgainst } from './src/against.ts';
import { agentExec } from './src/agent-exec.ts';
import { agentListdir } from './src/agent-listdir.ts';
import { agentOutput } from './src/agent-output.ts';
import { agentProcesses } from './src/agent-processes.ts';
import { agentSmallfiles } from './src/agent-smallfiles.ts';
import { agentStart } from './src/agent-start.ts';
import { agentDownload, agentUpload } from './src/agent-transfer.ts';
import { agentUnary } from './src/agent-unary.ts';
import { agentWatch } from './src/agent-watch.ts';
import type { Benchmark } from './src/benchmark.ts';
import { createAt200 } from './src/create-at200.ts';
import { createBurst50 } from './src/create-burst50.ts';
import { createCold } from './src/create-cold.ts';
import { createWarm } from './src/create-warm.ts';
import { deleteSandbox } from './src/delete.ts';
import { densityPerGib } from './src/density-per-gib.ts';
import { dockerRun } from './src/docker-run.ts';
import { execRoundtrip } from './src/exec-roundtrip.ts';
import { fileDownload, fileUpload } from './src/file-transfer.ts';
import { fork8 } from './src/fork.ts';
import { describeMachine } from './src/machine.ts';
import { memoryIdle } from './src/memory-idle.ts';
import { pauseResume1g, pauseResume64m } from './src/pause-resume.ts';
import { podmanRun } from './src/podman-run.ts';
import { findStale, readReport, withRows, writeReport, writeRows } from './src/report.ts';
import { type Row, toAlignedText, toTable } from './src/row.ts';
import { runBenchmarks } from './src/run-benchmarks.ts';
import { runcRun } from './src/runc-run.ts';
import { snapshotStop, snapshotStopMemory } from './src/snapshot-stop.ts';
import { templateCreateLarge } from './src/templates/create-large.ts';
import { templateCreateServed } from './src/templates/create-served.ts';
import { imageErofs, imageErofsLz4 } from './src/templates/file-systems.ts';
import { templateRebuild } from './src/templates/rebuild.ts';
import { templateUnpack } from './src/templates/unpack.ts';
import { templateUploadMemory } from './src/templates/upload-memory.ts';

const benchmarks: Record<string, Benchmark> = {
  // First: create.cold is compared with them.
  'runc.run': runcRun,
  'docker.run': dockerRun,
  'podman.run': podmanRun,
  'create.cold': createCold,
  'create.warm': createWarm,
  'create.burst50': createBurst50,
  'create.at200': createAt200,
  'density.per-gib': densityPerGib,
  delete: deleteSandbox,
  'pause-resume.64m': pauseResume64m,
  'pause-resume.1g': pauseResume1g,
  'fork.8': fork8,
  'snapshot.stop': snapshotStop,
  'snapshot.stop.memory': snapshotStopMemory,
  'exec.roundtrip': execRoundtrip,
  'file.download': fileDownload,
  'file.upload': fileUpload,
  'memory.idle': memoryIdle,
  'template.unpack': templateUnpack,
  'template.rebuild': templateRebuild,
  'template.create.large': templateCreateLarge,
  'template.create.served': templateCreateServed,
  'template.upload.memory': templateUploadMemory,
  'image.erofs': imageErofs,
  'image.erofs-lz4': imageErofsLz4,
  'agent.start': agentStart,
  'agent.unary': agentUnary,
  'agent.exec': agentExec,
  'agent.output': agentOutput,
  'agent.smallfiles': agentSmallfiles,
  'agent.listdir': agentListdir,
  'agent.upload': agentUpload,
  'agent.download': agentDownload,
  'agent.processes': agentProcesses,
  'agent.watch': agentWatch,
};

const { values } = parseArgs({
  args: process.argv.slice(2).filter((word) => word !== '--'),
  options: {
    /** The names to measure; all by default. */
    only: { type: 'string', multiple: true },
    runs: { type: 'string', default: '20' },
    /** A tenth of the sizes, a quarter of the runs. */
    quick: { type: 'boolean', default: false },
    /** Downloads references that are not installed, and removes them again. */
    'install-references': { type: 'boolean', default: false },
    /** Saves the result and writes it to the pages; with `only`, those rows beside the others. */
    write: { type: 'boolean', default: false },
    /** Also writes the rows to this file, as a JSON array. */
    json: { type: 'string' },
    /** Another checkout: each benchmark runs alternately in both, and the table compares them. */
    against: { type: 'string' },
    /** The number of rounds with `--against`. */
    rounds: { type: 'string', default: '4' },
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
const runs = Math.ceil(Number(values.runs) * (values.quick ? 0.25 : 1));
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

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort(signal));

if (values.against !== undefined) {
  const { quick, against: there } = values;
  const here = join(import.meta.dirname, '..');
  const options = { here, there, names, rounds, runs: Number(values.runs), quick, signal: stop.signal };
  const compared = await runAgainst(options);
  const head = ['name', 'unit', 'here', 'there', 'here is worse by', 'each round'];
  const lines = compared.map((row) => [
    row.name,
    row.unit,
    row.here,
    row.there,
    row.ratio,
    row.rounds.join(' '),
  ]);
  console.log(toAlignedText([head, ...lines].map((cells) => cells.map(String))));
  process.exit(0);
}

const machine = describeMachine();
const rows: Row[] = [];
const failed: string[] = [];
try {
  for await (const outcome of runBenchmarks(
    names.map((name) => ({ name, benchmark: benchmarks[name] as Benchmark })),
    {
      runs,
      scale: values.quick ? 0.1 : 1,
      installsReferences: values['install-references'],
      signal: stop.signal,
    },
  )) {
    if ('rows' in outcome) rows.push(...outcome.rows);
    else {
      failed.push(outcome.name);
      console.error(outcome.error);
    }
  }
} catch (error) {
  if (error !== stop.signal.reason) throw error;
  console.error(`stopped by ${stop.signal.reason}; everything that was started has been removed`);
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
