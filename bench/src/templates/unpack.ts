import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ContainerPrograms, findContainerPrograms } from '../containers/container-programs.ts';
import type { Benchmark } from '../harness/benchmark.ts';
import { type Row, toRow, toUnmeasuredRow } from '../report/row.ts';
import { makeLayers } from './make-layers.ts';
import { startTemplateService } from './template-service.ts';

const run = promisify(execFile);

const SIZE_BYTES = 500 * 2 ** 20;
const MAX_RUNS = 5;
const IMAGE = 'bench/large';
const BESIDE_PODMAN = 'template.unpack.podman';

/**
 * The build of a template from an image of 500 MB in five layers on a loopback registry: pulled, unpacked, and written
 * into its image file. The references: `tar -x` of the same layers from files, and `podman pull` from the same registry.
 */
export const templateUnpack: Benchmark = async ({ name, runs, scale, installsReferences, resources }) => {
  const podman = await findContainerPrograms({
    names: ['podman'],
    packages: ['podman'],
    installs: installsReferences,
    resources,
  });
  const { folder, registry, build } = await startTemplateService(resources);
  const paths = await makeLayers({ folder, sizeBytes: SIZE_BYTES * scale, compression: 'gzip' });
  await registry.pushLayers(IMAGE, { paths, compression: 'gzip' });
  const reference = `${registry.host}/${IMAGE}`;
  const pullBeside = 'missing' in podman ? undefined : preparePull({ folder, podman, resources });
  const samples: number[] = [];
  const tars: number[] = [];
  const pulls: number[] = [];
  for (let sample = -1; sample < Math.min(runs, MAX_RUNS); sample += 1) {
    // What one has written is not written to the disk in the time of the next.
    await run('sync');
    const tarMs = await unpackBeside(join(folder, 'tree'), paths);
    await run('sync');
    const pullMs = await pullBeside?.(reference);
    await run('sync');
    const builtMs = await build('unpacked', { fromImage: reference, force: true });
    if (sample < 0) continue;
    samples.push(builtMs);
    tars.push(tarMs);
    if (pullMs !== undefined) pulls.push(pullMs);
  }
  const compare = (
    row: string,
    { bound, ...compared }: { name: string; samples: number[]; bound: number },
  ): Row =>
    toRow({
      ...{ name: row, unit: 'ms', samples, reference: compared },
      bound: { of: 'ratio', atMost: bound },
      ifMissed:
        'most of the time passes while the layers are unpacked into a tree, the rest while the tree becomes a file system',
    });
  return [
    compare(name, { name: 'tar -x', samples: tars, bound: 1.5 }),
    'missing' in podman
      ? toUnmeasuredRow({ name: BESIDE_PODMAN, unit: 'ms', reason: podman.missing })
      : compare(BESIDE_PODMAN, { name: 'podman pull', samples: pulls, bound: 1 }),
  ];
};

async function unpackBeside(target: string, paths: readonly string[]): Promise<number> {
  mkdirSync(target);
  const started = performance.now();
  for (const path of paths) await run('tar', ['-xzf', path, '-C', target]);
  const tookMs = performance.now() - started;
  rmSync(target, { recursive: true });
  return tookMs;
}

/** Returns a pull into an empty store of images, without the system's settings. */
function preparePull({
  folder,
  podman: { env },
  resources,
}: {
  folder: string;
  podman: ContainerPrograms;
  resources: AsyncDisposableStack;
}): (reference: string) => Promise<number> {
  const store = join(folder, 'podman');
  const policy = join(folder, 'policy.json');
  writeFileSync(policy, '{"default":[{"type":"insecureAcceptAnything"}]}');
  const cache = '/var/lib/containers/cache';
  if (!existsSync(cache)) resources.defer(() => rmSync(cache, { recursive: true, force: true }));
  const args = [
    ...['--root', join(store, 'root'), '--runroot', join(store, 'run'), '--tmpdir', join(store, 'tmp')],
    ...['--storage-driver', 'overlay', '--events-backend', 'none'],
  ];
  // A mount namespace of its own leaves no mount of the store.
  const inside = ['--mount', '--propagation', 'private', 'podman', ...args];
  return async (reference) => {
    const pull = ['pull', '--quiet', '--tls-verify=false', '--signature-policy', policy, reference];
    const started = performance.now();
    await run('unshare', [...inside, ...pull], { env: { ...process.env, ...env } });
    const tookMs = performance.now() - started;
    rmSync(store, { recursive: true });
    return tookMs;
  };
}
