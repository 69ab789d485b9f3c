import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Benchmark } from '../harness/benchmark.ts';
import { toRow } from '../report/row.ts';

const agent = join(import.meta.dirname, '../../../packages/envd/dist/main.js');
const bare = `require('node:http').createServer((q, r) => r.end()).listen(process.env.ENVD_SOCKET_DIR + '/control.sock')`;

/** From spawning the agent until it listens, on the host; the reference is a Node server that only listens. */
export const agentStart: Benchmark = async ({ name, runs }) => {
  const samples: number[] = [];
  const reference: number[] = [];
  for (let run = 0; run <= runs; run += 1) {
    const [measured, compared] = [await timeUntilListening([agent]), await timeUntilListening(['-e', bare])];
    if (run === 0) continue; // Reads the files into memory.
    samples.push(measured);
    reference.push(compared);
  }
  return [
    toRow({
      name,
      unit: 'ms',
      samples,
      reference: { name: 'bare node:http', samples: reference },
      bound: { of: 'p50', atMost: 60 },
    }),
  ];
};

async function timeUntilListening(argv: string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-agent-'));
  const socket = join(folder, 'control.sock');
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  const watcher = watch(folder, () => {
    if (existsSync(socket)) resolve();
  });
  const started = performance.now();
  const child: ChildProcess = spawn(process.execPath, argv, {
    env: { PATH: process.env.PATH, ENVD_SOCKET_DIR: folder, ENVD_PORT: 'off' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exit = once(child, 'exit');
  await Promise.race([listening, exit.then(() => Promise.reject(new Error('it ended before it listened')))]);
  const elapsed = performance.now() - started;
  watcher.close();
  child.kill('SIGKILL');
  await exit;
  rmSync(folder, { recursive: true });
  return elapsed;
}
