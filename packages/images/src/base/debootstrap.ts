import { readdir, readFile, writeFile } from 'node:fs/promises';
import { arch } from 'node:os';
import { join } from 'node:path';
import { ImageError } from '../image-error.ts';
import type { OnProgress } from '../progress.ts';
import { findProgram, runProgram } from '../run-program.ts';
import { readHostAptOptions } from './apt-options.ts';
import { type Distribution, parseDistribution, selectHostSources } from './apt-sources.ts';
import { dpkgOptions } from './debian/dpkg-options.ts';
import { createInstallProgress } from './install-progress.ts';
import { addLocales } from './locales.ts';
import type { BaseRecipe } from './recipe.ts';

/**
 * Debian 12 would install usrmerge, with Perl modules of its own, to merge /usr afterwards; later releases are merged
 * already.
 */
const mergedFromTheStart = ['--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr', '--include=usr-is-merged'];

/**
 * Installs packages of the host's own distribution into `<workDir>/rootfs`, which must not exist, with the
 * host's sources and proxy but none of its third parties. Takes about 20 s and 300 MB for the minimal recipe, and three times that for
 * the full one. Rejects with `unsupported_host`
 * outside of Debian and Ubuntu, `missing_program` without mmdebstrap, `build_failed` with its last output, or the
 * reason of `signal`.
 */
export async function buildFromPackages(options: {
  recipe: BaseRecipe;
  workDir: string;
  onProgress: OnProgress;
  signal?: AbortSignal | undefined;
}): Promise<Distribution> {
  const { recipe, workDir, onProgress, signal } = options;
  const distribution = parseDistribution(
    await readFile('/etc/os-release', 'utf8').catch(() => ''),
    toDebianArchitecture(),
  );
  if (!distribution)
    throw new ImageError(
      'unsupported_host',
      'the base image is made from the packages of Debian or Ubuntu; on this host, name an image of a registry instead',
    );
  const mmdebstrap = findProgram('mmdebstrap');
  const aptOptions = join(workDir, 'apt.conf');
  const lines = [...(await readHostAptOptions()), ['Acquire::Languages', 'none']];
  await writeFile(aptOptions, lines.map(([key, value]) => `${key} "${value}";\n`).join(''));
  await runProgram({
    file: mmdebstrap,
    args: [
      ...['--mode=root', '--variant=apt', '--format=directory', '--verbose'],
      // The runtime provides /dev; no device node is ever kept on the host.
      '--skip=output/dev',
      `--aptopt=${aptOptions}`,
      // What the finished image lacks anyway takes time to unpack.
      ...dpkgOptions.map((option) => `--dpkgopt=${option}`),
      ...(distribution.codename === 'bookworm' ? mergedFromTheStart : []),
      `--include=${Object.keys(recipe.packages).join(',')}`,
      ...(recipe.locales.length > 0 ? [`--customize-hook=chroot "$1" sh -c '${addLocales(recipe)}'`] : []),
      ...[distribution.codename, join(workDir, 'rootfs'), '-'],
    ],
    input: selectHostSources(await readHostSources(), distribution),
    env: { TMPDIR: workDir, DEBIAN_FRONTEND: 'noninteractive' },
    onLine: createInstallProgress(onProgress),
    signal,
  });
  return distribution;
}

function toDebianArchitecture(): string {
  const names: Record<string, string> = { x64: 'amd64', ia32: 'i386', arm: 'armhf', ppc64: 'ppc64el' };
  return names[arch()] ?? arch();
}

async function readHostSources(): Promise<{ name: string; text: string }[]> {
  const parts = await readdir('/etc/apt/sources.list.d').catch(() => []);
  const paths = ['/etc/apt/sources.list', ...parts.map((name) => join('/etc/apt/sources.list.d', name))];
  const read = paths
    .filter((path) => /\.(list|sources)$/.test(path))
    .map(async (name) => ({ name, text: await readFile(name, 'utf8').catch(() => '') }));
  return Promise.all(read);
}
