// Usage: pnpm bench [--only NAME] [--runs N] [--json FILE]
// Measures skerry beside a reference in one run and prints a table; figures are worth comparing only within a run.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { agentStart } from './src/agent-start.ts';
import type { Benchmark } from './src/benchmark.ts';
import { createCold } from './src/create-cold.ts';
import { createWarm } from './src/create-warm.ts';
import { execRoundtrip } from './src/exec-roundtrip.ts';
import { fileDownload, fileUpload } from './src/file-transfer.ts';
import { describeMachine } from './src/machine.ts';
import { memoryIdle } from './src/memory-idle.ts';
import { type Row, toTable } from './src/row.ts';
import { startBenchStack } from './src/stack.ts';

const benchmarks: Record<string, Benchmark> = {
  'create.cold': createCold,
  'create.warm': createWarm,
  'exec.roundtrip': execRoundtrip,
  'agent.start': agentStart,
  'memory.idle': memoryIdle,
  'file.download': fileDownload,
  'file.upload': fileUpload,
};

const { values } = parseArgs({
  args: process.argv.slice(2).filter((word) => word !== '--'),
  options: {
    only: { type: 'string', multiple: true },
    runs: { type: 'string', default: '20' },
    json: { type: 'string' },
  },
});
const runs = Number(values.runs);
const names = values.only ?? Object.keys(benchmarks);
const unknown = names.filter((name) => !(name in benchmarks));
if (unknown.length > 0 || !Number.isInteger(runs) || runs < 1) {
  console.error(
    `unknown benchmark ${unknown.join(', ')} or bad --runs; names: ${Object.keys(benchmarks).join(' ')}`,
  );
  process.exit(2);
}

const machine = describeMachine();
console.log(
  `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Linux ${machine.kernel}, Node ${machine.node}, load ${machine.load}\n`,
);

const stack = await startBenchStack();
const rows: Row[] = [];
try {
  for (const name of names) {
    console.error(`measuring ${name}`);
    rows.push(...((await benchmarks[name]?.({ name, runs, stack })) ?? []));
  }
} finally {
  await stack.down();
}
console.log(toTable(rows));
if (values.json) {
  mkdirSync(dirname(values.json), { recursive: true });
  writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`);
  writeFileSync(values.json.replace(/(\.json)?$/, '.machine.json'), `${JSON.stringify(machine, null, 2)}\n`);
}
