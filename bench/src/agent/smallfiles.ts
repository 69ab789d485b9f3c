import { mkdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { startReference } from '../reference/start-reference.ts';
import { toRow } from '../report/row.ts';
import { type Endpoint, startBenchSandbox } from './agent.ts';

const FILES = 10_000;
const BATCHES = 10;
const CONNECTIONS = 8;
const content = Buffer.alloc(1024, 'x');

/**
 * 10,000 files of 1 KiB, each a POST /files on one of 8 connections; the reference is a bare node:http that writes
 * files.
 */
export const agentSmallfiles: Benchmark = async (context) => {
  const sandbox = await startBenchSandbox(context);
  const reference = await startReference(context.resources);
  const bare: Endpoint = { ...reference, headers: {} };
  const count = Math.max(CONNECTIONS, Math.round((FILES * context.scale) / BATCHES));
  const { samples, compared } = await samplePairs({
    warmUpRuns: 1,
    runs: BATCHES,
    measure: (batch) => writeFiles(sandbox, { folder: `/home/user/batch${batch}`, count }),
    beside: (batch) => {
      const folder = join(reference.folder, `batch${batch}`);
      mkdirSync(folder);
      return writeFiles(bare, { folder, count });
    },
  });
  return [
    toRow({
      name: context.name,
      unit: 'files/s',
      samples,
      better: 'more',
      reference: { name: 'bare node:http', samples: compared },
    }),
  ];
};

async function writeFiles(
  endpoint: Endpoint,
  { folder, count }: { folder: string; count: number },
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const startedMs = performance.now();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await writeFile(endpoint, { agent, path: `${folder}/${next++}` });
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  const elapsedMs = performance.now() - startedMs;
  agent.destroy();
  return count / (elapsedMs / 1000);
}

function writeFile(
  { socketPath, headers }: Endpoint,
  { agent, path }: { agent: Agent; path: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const length = content.length;
    const outgoing = request({
      socketPath,
      agent,
      method: 'POST',
      path: `/files?path=${encodeURIComponent(path)}`,
      headers: { ...headers, 'Content-Type': 'application/octet-stream', 'Content-Length': length },
    });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      response.resume().once('end', resolve).once('error', reject);
      if (response.statusCode !== 200) reject(new Error(`a write was answered with ${response.statusCode}`));
    });
    outgoing.end(content);
  });
}
