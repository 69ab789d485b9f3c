// Usage: pnpm bench [--only NAME]… [--runs N] [--quick] [--install-references] [--json FILE] [--write] [--check]
// Measures skerry beside references in one run and prints a table; figures are worth comparing only within a run.
import { parseArgs } from 'node:util';
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
import { findStale, readReport, writeReport, writeRows } from './src/report.ts';
import { type Row, toTable } from './src/row.ts';
import { runBenchmarks } from './src/run-benchmarks.ts';
import { runcRun } from './src/runc-run.ts';
import { snapshotStop, snapshotStopMemory } from './src/snapshot-stop.ts';

const benchmarks: Record<string, Benchmark> = {
  // First: create.cold is related to them.
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
    /** The names to measure; all unless given. */
    only: { type: 'string', multiple: true },
    runs: { type: 'string', default: '20' },
    /** A tenth of the sizes, a quarter of the runs. */
    quick: { type: 'boolean', default: false },
    /** Brings the references that are not installed, and takes them away again. */
    'install-references': { type: 'boolean', default: false },
    /** Keeps the result and writes it into the pages. */
    write: { type: 'boolean', default: false },
    /** Also writes the rows into this file, as a JSON array. */
    json: { type: 'string' },
    /** Measures nothing: whether the pages say what was kept. */
    check: { type: 'boolean', default: false },
  },
});

if (values.check) {
  const stale = findStale(readReport());
  for (const path of stale)
    console.error(`the figures in ${path} are not those of bench/results/latest.json`);
  process.exit(stale.length === 0 ? 0 : 1);
}

const names = values.only ?? Object.keys(benchmarks);
const unknown = names.filter((name) => !(name in benchmarks));
const runs = Math.ceil(Number(values.runs) * (values.quick ? 0.25 : 1));
if (unknown.length > 0 || !Number.isInteger(runs) || runs < 1) {
  console.error(
    `unknown benchmark ${unknown.join(', ')} or bad --runs; names: ${Object.keys(benchmarks).join(' ')}`,
  );
  process.exit(2);
}
if (values.write && (values.only !== undefined || values.quick)) {
  console.error('--write keeps one whole run: it goes neither with --only nor with --quick');
  process.exit(2);
}

const machine = describeMachine();
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort(signal));

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
  console.error(`stopped by ${stop.signal.reason}; what was started is gone`);
  process.exit(130);
}
console.log(toTable(machine, rows));
if (values.json !== undefined) writeRows(values.json, rows);
if (failed.length > 0) {
  console.error(`failed: ${failed.join(' ')}; nothing is kept of this run`);
  process.exit(1);
}
if (values.write) writeReport({ machine, rows });
process.exit(0);
