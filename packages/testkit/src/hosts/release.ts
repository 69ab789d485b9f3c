import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { startStack } from '../stack/stack.ts';
import { buildOnce, makeWorkFolder, toDigest } from './built-once.ts';
import { runTool } from './run-tool.ts';

const packages = ['platform-client', 'envd-client', 'sdk', 'cli'];
const diskSize = '4G';

/**
 * Resolves with a disk that holds skerry as it is published, packed from this checkout, with its dependencies, the pinned
 * Node and the images that the product fetches. The checkout must be built.
 */
export async function ensureReleaseDisk({
  root,
  cacheDir,
}: {
  root: string;
  cacheDir: string;
}): Promise<string> {
  const work = makeWorkFolder(cacheDir);
  try {
    const tarballs = await pack(root, work);
    const app = await buildOnce({
      cacheDir,
      name: 'app',
      digest: toDigest(...tarballs.map((path) => readFileSync(path))),
      build: (folder) => install(tarballs, folder),
    });
    const imagesDir = await ensureImages({
      program: join(app, 'node_modules/skerry/dist/main.js'),
      cacheDir,
    });
    const node = realpathSync(join(root, 'node_modules/.bin/node'));
    const folder = await buildOnce({
      cacheDir,
      name: 'release',
      digest: toDigest(app, node, ...readdirSync(imagesDir)),
      build: async (target) => {
        const tree = join(target, 'tree');
        mkdirSync(join(tree, 'bin'), { recursive: true });
        await runTool('cp', ['-a', join(app, 'node_modules'), imagesDir, tree]);
        writeFileSync(join(tree, 'package.json'), '{ "type": "module" }\n');
        cpSync(node, join(tree, 'bin/node'));
        symlinkSync('../node_modules/skerry/dist/main.js', join(tree, 'bin/skerry'));
        chmodSync(tree, 0o755);
        await runTool('mke2fs', [
          ...['-q', '-t', 'ext4', '-L', 'skerry', '-d', tree, join(target, 'disk.ext4'), diskSize],
        ]);
        rmSync(tree, { recursive: true });
      },
    });
    return join(folder, 'disk.ext4');
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function pack(root: string, folder: string): Promise<string[]> {
  const tarballs: string[] = [];
  for (const name of packages) {
    const tarball = join(folder, `${name}.tgz`);
    await runTool('pnpm', ['pack', '--out', tarball], { cwd: join(root, 'packages', name) });
    tarballs.push(tarball);
  }
  return tarballs;
}

/** Into a project outside of the workspace, as a user does. */
async function install(tarballs: readonly string[], folder: string): Promise<void> {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  // npm reads settings of a surrounding pnpm from variables and warns about them.
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^npm_/i.test(key)));
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--no-save'];
  await runTool('npm', ['install', ...options, ...tarballs], { cwd: folder, env });
}

/**
 * Resolves with a folder of everything that the product fetches at its first starts, at both levels, fetched by itself on
 * this host. What it has proved here is left out: a guest has another kernel.
 */
async function ensureImages({ program, cacheDir }: { program: string; cacheDir: string }): Promise<string> {
  const folder = join(cacheDir, 'images');
  console.log('fetching the images that are missing');
  for (const isolation of ['container', 'gvisor']) await fetchImages({ program, folder, isolation });
  rmSync(join(folder, 'criu-proof.json'), { force: true });
  return folder;
}

/** A first start, on an empty data folder. */
async function fetchImages(options: { program: string; folder: string; isolation: string }): Promise<void> {
  const { program, folder, isolation } = options;
  await using _stack = await startStack({
    program,
    args: ['--base', 'full', '--images', folder, '--isolation', isolation],
  });
}
