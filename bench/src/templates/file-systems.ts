import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeFileSystemImage } from '@skerry/runtime/helper';
import { findContainerPrograms } from '../containers/container-programs.ts';
import type { Benchmark } from '../harness/benchmark.ts';
import { temporaryFolder } from '../harness/temporary-folder.ts';
import { toRow, toUnmeasuredRow } from '../report/row.ts';
import { makeLayers } from './make-layers.ts';

const run = promisify(execFile);

const SIZE_BYTES = 500 * 2 ** 20;
const MAX_RUNS = 5;
const MIB = 2 ** 20;

/** The figures of one file system image, in milliseconds but for the size. */
interface Figures {
  make: number;
  size: number;
  mount: number;
  cold: number;
  warm: number;
}

/**
 * An erofs of 500 MB in 17,000 files: making and syncing it, its size, mounting it, and reading all files, first from
 * the disk, then again. The reference is the ext4 that templates are made of.
 */
export const imageErofs: Benchmark = (context) => compare(context, []);

/** `imageErofs` with each file compressed by lz4hc. */
export const imageErofsLz4: Benchmark = (context) => compare(context, ['-zlz4hc']);

async function compare(
  { name, runs, scale, installsReferences, resources }: Parameters<Benchmark>[0],
  options: readonly string[],
): ReturnType<Benchmark> {
  const erofs = await findContainerPrograms({
    names: ['mkfs.erofs'],
    packages: ['erofs-utils'],
    installs: installsReferences,
    resources,
  });
  if ('missing' in erofs) return [toUnmeasuredRow({ name, unit: 'ms', reason: erofs.missing })];
  const folder = temporaryFolder(resources);
  const tree = join(folder, 'tree');
  mkdirSync(tree);
  const layers = await makeLayers({ folder, sizeBytes: SIZE_BYTES * scale, compression: 'none' });
  for (const layer of layers) await run('tar', ['-xf', layer, '-C', tree]);
  const path = join(folder, 'image');
  const makeErofs = async (): Promise<void> => {
    await run('mkfs.erofs', [...options, '--quiet', path, tree], { env: { ...process.env, ...erofs.env } });
    await run('sha256sum', [path]);
    await run('sync', [path]);
  };
  const makeExt4 = (): Promise<unknown> => makeFileSystemImage({ folder: tree, path });
  const samples: Figures[] = [];
  const references: Figures[] = [];
  for (let sample = -1; sample < Math.min(runs, MAX_RUNS); sample += 1) {
    // What was written before is not written to the disk in the measured time.
    await run('sync');
    const ours = await measure(path, { type: 'ext4', make: makeExt4 });
    const theirs = await measure(path, { type: 'erofs', make: makeErofs });
    if (sample < 0) continue;
    references.push(ours);
    samples.push(theirs);
  }
  const toFigure = (figure: keyof Figures, unit: string) =>
    toRow({
      ...{ name: `${name}.${figure}`, unit, samples: samples.map((each) => each[figure]) },
      reference: { name: 'ext4', samples: references.map((each) => each[figure]) },
    });
  return [
    toFigure('make', 'ms'),
    toFigure('size', 'MiB'),
    toFigure('mount', 'ms'),
    toFigure('cold', 'ms'),
    toFigure('warm', 'ms'),
  ];
}

/** Makes the image, uses it and removes it. */
async function measure(
  path: string,
  { type, make }: { type: string; make: () => Promise<unknown> },
): Promise<Figures> {
  const target = `${path}-mount`;
  const readAll = ['-c', 'find "$0" -type f -print0 | xargs -0 cat > /dev/null', target];
  mkdirSync(target);
  const made = await time(make);
  const size = (statSync(path).blocks * 512) / MIB;
  // The pages of the file leave the memory: POSIX_FADV_DONTNEED.
  await run('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
  const mounted = await time(() => run('mount', ['-t', type, '-o', 'ro,loop', path, target]));
  try {
    const cold = await time(() => run('sh', readAll));
    return { make: made, size, mount: mounted, cold, warm: await time(() => run('sh', readAll)) };
  } finally {
    await run('umount', [target]);
    for (const each of [target, path]) rmSync(each, { recursive: true });
  }
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
