import { makeTrustedCertificate } from '@skerry/testkit';
import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { startBenchStack } from '../harness/stack.ts';
import { toRow, toUnmeasuredRow } from '../report/row.ts';
import { type HttpVersion, hasLoadProgram, NO_LOAD_PROGRAM, sendLoad } from './http-load.ts';

/** The list of sandboxes over TLS and HTTP/2, on the real service; the reference is the same over HTTP/1.1. */
export const apiHttp2: Benchmark = async ({ name, runs, scale, resources }) => {
  if (!hasLoadProgram()) return [toUnmeasuredRow({ name, unit: 'req/s', reason: NO_LOAD_PROGRAM })];
  const certificate = makeTrustedCertificate('localhost');
  resources.use(certificate);
  const { connection } = await startBenchStack({ resources, args: certificate.args });
  const requests = Math.max(4_000, Math.round(8_000 * scale));
  const call = async (version: HttpVersion): Promise<number> => {
    const headers = { 'x-api-key': connection.apiKey };
    const port = Number(new URL(connection.apiUrl).port);
    const url = `${connection.apiUrl}/v2/sandboxes`;
    return (await sendLoad(url, { version, requests, port, headers })).perSecond;
  };
  const { samples, compared } = await samplePairs({
    // Each version has code of its own to compile.
    warmUpRuns: 3,
    runs,
    measure: () => call('h2'),
    beside: () => call('h1'),
  });
  return [
    toRow({
      name,
      unit: 'req/s',
      better: 'more',
      samples,
      reference: { name: 'HTTP/1.1', samples: compared },
      bound: { of: 'ratio', atLeast: 1 },
      ifMissed: 'a stream of HTTP/2 costs Node more than a request of HTTP/1.1 on a connection that is open',
    }),
  ];
};
