import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeArchive } from '../templates/archive.ts';
import { type DebianRegistry, startDebianRegistry } from '../templates/debian-registry.ts';
import { createTemplateBuilds } from '../templates/template-builds.ts';
import { attackFromOutside } from './attack.ts';

let registry: DebianRegistry;
let stack: Stack;
let helper: ClientHttp2Session;
const dir = mkdtempSync(join(tmpdir(), 'skerry-hostile-layers-'));
const dataDir = join(dir, 'data');
beforeAll(async () => {
  registry = await startDebianRegistry();
  stack = await startStack({ dataDir, args: ['--registry', registry.host] });
  helper = connect('http://localhost', {
    createConnection: () => connectSocket(join(dataDir, 'run/runtime.sock')),
  });
  await once(helper, 'connect');
});
afterAll(async () => {
  helper.destroy();
  await stack.down();
  await registry[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true });
});

const { build } = createTemplateBuilds(() => stack);

/** How long the helper takes to answer while `work` is done, in milliseconds, each time. */
const measureAnswers = async <T>(work: Promise<T>): Promise<{ result: T; answersMs: number[] }> => {
  const answersMs: number[] = [];
  let isDone = false;
  const asking = (async () => {
    while (!isDone) {
      const since = performance.now();
      await promisify((done: () => void) => helper.ping(done))();
      answersMs.push(performance.now() - since);
      await sleep(10);
    }
  })();
  try {
    return { result: await work, answersMs };
  } finally {
    isDone = true;
    await asking;
  }
};

/** The most memory that the helper has had, in MiB. */
const readPeak = (): number => {
  const { pid } = JSON.parse(readFileSync(join(dataDir, 'run/helper.json'), 'utf8')) as { pid: number };
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) / 1024;
};

let count = 0;
/** Builds a template of those layers. The helper answers within 100 ms meanwhile, and takes no memory for what they have. */
const buildFrom = async (compression: 'gzip' | 'zstd', ...layers: Buffer[]) => {
  const name = `layers-${count++}`;
  const paths = layers.map((layer, index) => {
    const path = join(dir, `${name}.${index}`);
    writeFileSync(path, layer);
    return path;
  });
  await registry.pushLayers(name, { paths, compression });
  const peakBefore = readPeak();
  const begunAt = performance.now();
  const { result, answersMs } = await measureAnswers(build(name, { fromImage: `${registry.host}/${name}` }));
  const tookMs = performance.now() - begunAt;
  expect(readPeak() - peakBefore).toBeLessThan(200);
  const sorted = answersMs.toSorted((a, b) => a - b);
  expect(sorted.at(Math.floor(sorted.length * 0.95))).toBeLessThan(100);
  // A busy machine delays a few of them.
  const lateMs = answersMs.reduce((sum, ms) => sum + Math.max(0, ms - 100), 0);
  expect(lateMs / tookMs).toBeLessThan(0.25);
  return result;
};

const text = '#'.repeat(400);
/** One pax header of a million bytes, for all entries that follow. */
const makeGlobalHeader = async (): Promise<Buffer> => {
  const keys = Array.from(
    { length: 90_000 },
    (_, number) => `12 k${String(number).padStart(5, '0')}=\n`,
  ).join('');
  const [header, ...rest] = [await makeArchive([{ name: 'g', content: keys }]), await makeArchive([])];
  // The header of a file becomes that of a global one.
  header.write('g', 156, 'latin1');
  header.fill(' ', 148, 156);
  const sum = header.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  const files = await makeArchive(
    Array.from({ length: 2_000 }, (_, number) => ({ name: `f${number}`, content: text })),
  );
  return Buffer.concat([header.subarray(0, -1024), files, ...rest]);
};

const makeFiles = (folder: string, length: number) =>
  makeArchive(Array.from({ length }, (_, number) => ({ name: `${folder}/${number}` })));

attackFromOutside(
  'stopping the sandboxes of a host with layers that take long to unpack',
  'a process for each image, without rights, whose time and memory end',
  async () => {
    const global = await buildFrom('gzip', gzipSync(await makeGlobalHeader()));
    expect(global.reason?.message).toContain('a layer has a pax-global-header of');

    const folder = `${'d'.repeat(250)}/`.repeat(14);
    const long = Array.from({ length: 40_000 }, (_, number) => ({ name: `${folder}${number}` }));
    const names = await buildFrom('gzip', gzipSync(await makeArchive(long)));
    expect(names.reason?.message).toContain('the names of the image have more than 256 MiB');

    const zeros = Buffer.alloc(2 ** 30);
    const behind = await buildFrom(
      'zstd',
      Buffer.concat([await makeArchive([]), zeros].map((part) => zstdCompressSync(part))),
    );
    expect(behind.reason?.message).toContain('a layer goes on behind its end');

    const hidden = await buildFrom(
      'gzip',
      gzipSync(await makeFiles('tree', 10_000)),
      gzipSync(await makeArchive([{ name: '.wh.tree' }])),
    );
    expect(hidden).toMatchObject({ status: 'ready' });
  },
);
