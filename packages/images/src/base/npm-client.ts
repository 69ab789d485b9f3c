import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ImageError } from '../image-error.ts';
import { runProgram } from '../run-program.ts';
import type { NpmPackage } from './node-packages.ts';

/** The npm of this host, which knows its registry, its proxies and its credentials. */
export interface NpmClient {
  /** The absolute path of npm. */
  program: string;
  /** What it needs of the environment of its user, such as `HOME`, where its settings are. */
  env: Readonly<Record<string, string>>;
}

/**
 * Unpacks packages of npm below `<folder>/node_modules`; `folder` must not exist. None of their scripts is run, and
 * nothing is kept elsewhere. Packages that those need in turn must be in their archives. Rejects with `missing_program` without a client,
 * `build_failed` with the last lines of npm, also when a package is not the one that is pinned, or the reason of
 * `signal`.
 */
export async function fetchNpmPackages(
  packages: Readonly<Record<string, NpmPackage>>,
  { folder, npm, signal }: { folder: string; npm: NpmClient | undefined; signal?: AbortSignal | undefined },
): Promise<void> {
  const names = Object.keys(packages);
  if (npm === undefined)
    throw new ImageError(
      'missing_program',
      `${names.join(' and ')} come from npm, which is not on the PATH`,
      {
        remedy: 'skerry up --base minimal',
      },
    );
  const dependencies = Object.fromEntries(
    Object.entries(packages).map(([name, { version }]) => [name, version]),
  );
  const locked = Object.entries(packages).map(([name, release]) => [`node_modules/${name}`, release]);
  const lock = {
    lockfileVersion: 3,
    requires: true,
    packages: { '': { dependencies }, ...Object.fromEntries(locked) },
  };
  await mkdir(folder, { mode: 0o755 });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify(lock));
  await runProgram({
    file: npm.program,
    args: [
      ...['ci', '--prefix', folder, '--cache', join(folder, 'cache')],
      ...['--ignore-scripts', '--no-bin-links', '--no-audit', '--no-fund', '--no-update-notifier'],
    ],
    env: npm.env,
    signal,
  });
}
