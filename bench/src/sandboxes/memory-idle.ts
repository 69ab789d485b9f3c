import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark, BenchmarkContext } from '../harness/benchmark.ts';
import { toRow } from '../report/row.ts';
import { pidsOf, pssBytesOf } from './process-memory.ts';

/** One and 50 others that idle beside it; shared pages are divided among their users. */
const SANDBOXES = 51;
const BARE_SERVERS = 5;
/** The time in which a sandbox still allocates and frees memory after its create. */
const SETTLE_MS = 6_000;
const MIB = 2 ** 20;

/**
 * Proportional set size of everything that runs in a sandbox, for each of 51 idle ones; the reference is, at the same
 * time and sharing the same pages, the same Node with a one-line server.
 */
export const memoryIdle: Benchmark = async (context) => {
  const { name, stack, scale, resources } = context;
  const sandboxes: string[] = [];
  for (let index = 0; index < Math.round(SANDBOXES * scale); index += 1) {
    const sandbox = await stack.createBareSandbox();
    resources.defer(() => sandbox.kill());
    sandboxes.push(sandbox.sandboxId);
  }
  const servers = Array.from({ length: BARE_SERVERS }, () => startBareServer(context));
  await delay(SETTLE_MS);
  const samples = sandboxes.map((id) => pidsOf(id).reduce((sum, pid) => sum + pssBytesOf(pid), 0) / MIB);
  const compared = servers.map((pid) => pssBytesOf(pid) / MIB);
  return [
    toRow({
      name,
      unit: 'MiB',
      samples,
      reference: { name: 'bare node:http', samples: compared },
      bound: { of: 'p50', atMost: 12 },
    }),
  ];
};

/** Starts a server with the agent's own program, loader and libraries, whose pages it shares. */
function startBareServer({ stack, resources }: BenchmarkContext): number {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-bare-'));
  const agentDir = stack.agentDir();
  const script = `require('node:http').createServer((q, r) => r.end()).listen(${JSON.stringify(join(folder, 'bare.sock'))})`;
  const argv = ['--library-path', join(agentDir, 'lib'), join(agentDir, 'node'), '-e', script];
  const child = spawn(join(agentDir, 'ld.so'), argv, { stdio: ['ignore', 'ignore', 'inherit'], env: {} });
  resources.defer(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  if (child.pid === undefined) throw new Error('a bare server cannot be started');
  return child.pid;
}
