import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { toRouting } from '@skerry/testkit';
import type { Benchmark, BenchmarkContext } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { toRow } from '../report/row.ts';
import { download, type Endpoint, MIB, mibPerSecond, SIZE_BYTES, upload } from '../transfer/transfers.ts';

/** Both sides compile and grow their buffers first. */
const WARM_UP_RUNS = 2;

/** A 100 MiB file out of a sandbox through the edge; the reference is the same file from plain node:http. */
export const fileDownload: Benchmark = (context) => measureTransfers(context, download);

/** A 100 MiB file into a sandbox through the edge; the reference is the same file into plain node:http. */
export const fileUpload: Benchmark = (context) => measureTransfers(context, upload);

async function measureTransfers(
  { name, runs, stack, resources }: BenchmarkContext,
  transfer: (endpoint: Endpoint, source: string) => Promise<void>,
): ReturnType<Benchmark> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-transfer-'));
  resources.defer(() => rmSync(folder, { recursive: true, force: true }));
  const source = join(folder, 'source');
  writeFileSync(source, randomBytes(SIZE_BYTES));
  const plain = await startPlainServer(join(folder, 'served'));
  resources.defer(plain.close);
  const sandbox = await stack.createBareSandbox();
  resources.defer(() => sandbox.kill());
  const through: Endpoint = {
    url: `${stack.connection.sandboxUrl}/files?path=transfer.bin`,
    headers: {
      ...toRouting(sandbox.sandboxId),
      'X-Access-Token': sandbox.accessToken,
    },
  };
  const direct: Endpoint = { url: plain.url, headers: {} };
  for (const endpoint of [through, direct]) await upload(endpoint, source);
  const { samples, compared } = await samplePairs({
    warmUpRuns: WARM_UP_RUNS,
    runs,
    measure: () => mibPerSecond(() => transfer(through, source)),
    beside: () => mibPerSecond(() => transfer(direct, source)),
  });
  const plainly = { name: 'plain node:http', samples: compared };
  return [toRow({ name, unit: 'MiB/s', samples, better: 'more', reference: plainly })];
}

async function startPlainServer(path: string): Promise<{ url: string; close: () => void }> {
  const server = createServer((incoming, response) => {
    const copy =
      incoming.method === 'POST'
        ? pipeline(incoming, createWriteStream(path)).then(() => void response.end())
        : pipeline(createReadStream(path, { highWaterMark: MIB }), response);
    copy.catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => void server.close(),
  };
}
