import type { Benchmark } from '../harness/benchmark.ts';
import { type Row, toRow, toUnmeasuredRow } from '../report/row.ts';
import { type HttpVersion, hasLoadProgram, NO_LOAD_PROGRAM, sendLoad } from './http-load.ts';
import { LARGE_BYTES, readProcessorTime, startTlsServers, type TlsProxy } from './tls-servers.ts';

const ORIGIN = 'https://3000-i0123456789abcdefghij.example.test';
const MIB = 2 ** 20;
const IF_MISSED =
  'the HTTP server and client of Node in one thread: a proxy of ten lines on them, which checks nothing, reaches 0.3 × and uses 5 ×';

/** Small requests through TLS, to a server that is itself no bottleneck; the reference is nginx as the same proxy. */
export const edgeTlsRequests: Benchmark = async ({ name, runs, scale, resources }) => {
  if (!hasLoadProgram()) return [toUnmeasuredRow({ name, unit: 'req/s', reason: NO_LOAD_PROGRAM })];
  const { edge, nginx } = await startTlsServers(resources);
  const requests = Math.max(2_000, Math.round(10_000 * scale));
  const rows: Row[] = [];
  for (const version of ['h1', 'h2'] as const) {
    const samples = { edge: [] as Sample[], nginx: [] as Sample[] };
    // The first runs compile.
    for (let run = -2; run < runs; run += 1)
      for (const [which, proxy] of Object.entries({ edge, nginx })) {
        const sample = await measure(proxy, { version, requests });
        if (run >= 0) samples[which as 'edge' | 'nginx'].push(sample);
      }
    rows.push(
      toRow({
        name: `${name}.${version}`,
        unit: 'req/s',
        better: 'more',
        samples: samples.edge.map(({ perSecond }) => perSecond),
        reference: { name: 'nginx', samples: samples.nginx.map(({ perSecond }) => perSecond) },
        bound: { of: 'ratio', atLeast: 0.5 },
        ifMissed: IF_MISSED,
      }),
      toRow({
        name: `${name}.${version}.processor`,
        unit: 'µs',
        samples: samples.edge.map(({ processorUs }) => processorUs),
        reference: { name: 'nginx', samples: samples.nginx.map(({ processorUs }) => processorUs) },
        bound: { of: 'ratio', atMost: 2 },
        ifMissed: IF_MISSED,
      }),
    );
  }
  return rows;
};

interface Sample {
  perSecond: number;
  /** Time of the processor for each request, in microseconds. */
  processorUs: number;
}

async function measure(
  { port, pid }: TlsProxy,
  { version, requests }: { version: HttpVersion; requests: number },
): Promise<Sample> {
  const before = readProcessorTime(pid);
  const { perSecond } = await sendLoad(`${ORIGIN}/hello`, { version, requests, port });
  return { perSecond, processorUs: (readProcessorTime(pid) - before) / requests };
}

/** A file of 1 GiB through TLS, on one connection; the reference is nginx as the same proxy. */
export const edgeTlsDownload: Benchmark = async ({ name, runs, resources }) => {
  if (!hasLoadProgram()) return [toUnmeasuredRow({ name, unit: 'MiB/s', reason: NO_LOAD_PROGRAM })];
  const { edge, nginx } = await startTlsServers(resources);
  const rows: Row[] = [];
  for (const version of ['h1', 'h2'] as const) {
    const samples = { edge: [] as number[], nginx: [] as number[] };
    for (let run = -1; run < Math.min(runs, 7); run += 1)
      for (const [which, { port }] of Object.entries({ edge, nginx })) {
        const { seconds } = await sendLoad(`${ORIGIN}/large`, { version, requests: 1, connections: 1, port });
        if (run >= 0) samples[which as 'edge' | 'nginx'].push(LARGE_BYTES / MIB / seconds);
      }
    rows.push(
      toRow({
        name: `${name}.${version}`,
        unit: 'MiB/s',
        better: 'more',
        samples: samples.edge,
        reference: { name: 'nginx', samples: samples.nginx },
        bound: { of: 'ratio', atLeast: 0.8 },
      }),
    );
  }
  return rows;
};
