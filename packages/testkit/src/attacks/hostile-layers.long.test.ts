import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeArchive } from '../templates/archive.ts';
import { type DebianRegistry, startDebianRegistry } from '../templates/debian-registry.ts';
import { createTemplateBuilds } from '../templates/template-builds.ts';
import { patience } from '../workspace/patience.ts';
import { attackFromOutside } from './attack.ts';
import { type AnswerMeter, createAnswerMeter } from './measure-answers.ts';

let registry: DebianRegistry;
let stack: Stack;
let meter: AnswerMeter;
const dir = mkdtempSync(join(tmpdir(), 'skerry-hostile-layers-'));
const dataDir = join(dir, 'data');
beforeAll(async () => {
  registry = await startDebianRegistry();
  stack = await startStack({ dataDir, args: ['--registry', registry.host] });
  // The first build of a helper loads what the others find loaded.
  await pushAndBuild('plain', [gzipSync(await makeArchive([{ name: 'file' }]))], 'gzip');
  meter = await createAnswerMeter({
    helper: { pid: readHelperPid(), socket: join(dataDir, 'run/runtime.sock') },
    folder: dir,
  });
});
afterAll(async () => {
  await meter[Symbol.asyncDispose]();
  await stack.down();
  await registry[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true });
});

const { build } = createTemplateBuilds(() => stack);

const readHelperPid = (): number =>
  (JSON.parse(readFileSync(join(dataDir, 'run/helper.json'), 'utf8')) as { pid: number }).pid;

/** The most memory that the helper has had, in MiB. */
const readPeak = (): number => {
  const status = readFileSync(`/proc/${readHelperPid()}/status`, 'utf8');
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
  return Number(kibibytes) / 1024;
};

const LONGEST_ANSWER_MS = 100;

const pushAndBuild = async (name: string, layers: readonly Buffer[], compression: 'gzip' | 'zstd') => {
  const paths = layers.map((layer, index) => {
    const path = join(dir, `${name}.${index}`);
    writeFileSync(path, layer);
    return path;
  });
  await registry.pushLayers(name, { paths, compression });
  return build(name, { fromImage: `${registry.host}/${name}` });
};

let count = 0;
/** Builds a template of those layers. The helper answers within 100 ms meanwhile, and takes no memory for what they have. */
const buildFrom = async (compression: 'gzip' | 'zstd', ...layers: Buffer[]) => {
  const peakBefore = readPeak();
  const { result, longest } = await meter.during(pushAndBuild(`layers-${count++}`, layers, compression));
  expect(readPeak() - peakBefore).toBeLessThan(200);
  expect(longest.helperMs - longest.idleMs).toBeLessThan(LONGEST_ANSWER_MS * patience);
  return result;
};

/** One pax header of 471,000 keys, for all entries that follow. */
const makeGlobalHeader = async (): Promise<Buffer> => {
  const keys = Array.from(
    { length: 471_000 },
    (_, number) => `8 ${number.toString(36).padStart(4, '0')}=\n`,
  ).join('');
  const header = await makeArchive([{ name: 'g', content: keys }]);
  // The header of a file becomes that of a global one.
  header.write('g', 156, 'latin1');
  header.fill(' ', 148, 156);
  const sum = header.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([header.subarray(0, -1024), await makeFiles('global', 2_000)]);
};

/** Empty files in folders of at most `inEach`. */
const makeFiles = (folder: string, length: number, { inEach = length } = {}) =>
  makeArchive(
    Array.from({ length }, (_, number) => ({ name: `${folder}/${Math.floor(number / inEach)}/${number}` })),
  );

/** Chains of folders, each in the one before. */
const makeChains = (count: number, depth: number) =>
  makeArchive(
    Array.from({ length: count }, (_, number) => ({ name: `${number}${'/d'.repeat(depth)}/file` })),
  );

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

    const huge = [
      gzipSync(await makeFiles('tree', 25_000, { inEach: 100 })),
      gzipSync(await makeFiles('wide', 25_000)),
    ];
    expect(await buildFrom('gzip', ...huge)).toMatchObject({ status: 'ready' });
    const whiteouts = gzipSync(await makeArchive([{ name: '.wh.tree' }, { name: 'wide/0/.wh..wh..opq' }]));
    expect(await buildFrom('gzip', ...huge, whiteouts)).toMatchObject({ status: 'ready' });

    const deep = await buildFrom('gzip', gzipSync(await makeChains(2, 1_900)));
    expect(deep).toMatchObject({ status: 'ready' });
    const deeper = await buildFrom('gzip', gzipSync(await makeChains(1, 20_000)));
    expect(deeper.reason?.message).toContain('a layer has an entry with too long a path, of 40006 bytes');
  },
);
