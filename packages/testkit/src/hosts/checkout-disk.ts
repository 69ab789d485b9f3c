import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildOnce, toDigest } from './built-once.ts';
import { runTool } from './run-tool.ts';

const diskSize = '10G';

/** Resolves with a disk that holds this checkout, its files that git knows and its dependencies, for the suite of the drivers. */
export async function ensureCheckoutDisk({
  root,
  cacheDir,
}: {
  root: string;
  cacheDir: string;
}): Promise<string> {
  const script = `git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T - | tar -x -C "$1"
    find . -path ./.skerry -prune -o -path ./.toolchain -prune -o \\( -name node_modules -o -name dist \\) -prune -print0 |
      tar -c --null -T - | tar -x -C "$1"`;
  const state = await runTool('sh', ['-c', 'git rev-parse HEAD; git diff HEAD | sha256sum'], { cwd: root });
  const folder = await buildOnce({
    cacheDir,
    name: 'checkout',
    digest: toDigest(state),
    build: async (work) => {
      const tree = join(work, 'tree');
      await runTool('mkdir', [tree]);
      await runTool('sh', ['-ec', script, 'sh', tree], { cwd: root });
      await runTool('mke2fs', [
        ...['-q', '-t', 'ext4', '-L', 'checkout', '-d', tree, join(work, 'disk.ext4'), diskSize],
      ]);
      rmSync(tree, { recursive: true });
    },
  });
  return join(folder, 'disk.ext4');
}
