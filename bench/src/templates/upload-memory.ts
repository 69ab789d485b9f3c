import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import type { Benchmark } from '../harness/benchmark.ts';
import { toRow } from '../report/row.ts';
import { startTemplateService } from './template-service.ts';

const MIB = 2 ** 20;
const SIZE_BYTES = 2 ** 30;
const MAX_RUNS = 5;

/**
 * How far the resident memory of the server rises above its value before it receives 1 GB of files for a step, at its
 * highest.
 */
export const templateUploadMemory: Benchmark = async ({ name, runs, scale, resources }) => {
  const { stack } = await startTemplateService(resources);
  const { server } = stack.pids();
  const { data, error } = await stack.api.POST('/v3/templates', { body: { name: 'uploads' } });
  if (data === undefined) throw new Error(JSON.stringify(error));
  const samples: number[] = [];
  for (let run = 0; run < Math.min(runs, MAX_RUNS); run += 1) {
    const hash = createHash('sha256').update(`context ${run}`).digest('hex');
    const { data: link } = await stack.api.GET('/templates/{templateID}/files/{hash}', {
      params: { path: { templateID: data.templateID, hash } },
    });
    if (link?.url === undefined) throw new Error('the service gave no link for an upload');
    const before = readMemory(server).residentBytes;
    resetPeak(server);
    const sent = { method: 'PUT', body: Readable.toWeb(makeContent(SIZE_BYTES * scale)), duplex: 'half' };
    const response = await fetch(link.url, sent as RequestInit);
    if (response.status !== 204) throw new Error(`the upload was answered with ${response.status}`);
    samples.push((readMemory(server).peakBytes - before) / MIB);
  }
  return [toRow({ name, unit: 'MiB', samples, bound: { of: 'p95', atMost: 64 } })];
};

/** The store keeps any bytes; only the step reads the archive. */
const makeContent = (sizeBytes: number): Readable => {
  const piece = randomBytes(MIB);
  return Readable.from(
    (function* () {
      for (let left = Math.ceil(sizeBytes / MIB); left > 0; left -= 1) yield piece;
    })(),
    { objectMode: false },
  );
};

/** proc(5): 5 sets the peak to what the process has now. */
const resetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

function readMemory(pid: number): { residentBytes: number; peakBytes: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
  return { residentBytes: read('VmRSS'), peakBytes: read('VmHWM') };
}
