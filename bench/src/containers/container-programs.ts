import { execFile } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface ContainerPrograms {
  /** The environment in which a program finds the others and its libraries. */
  env: Record<string, string>;
}

/**
 * The programs of a reference: those of the system, or with `installs` those of Debian's packages, unpacked into a
 * folder that is removed with the resources. The system's own packages do not change. `missing` is the reason if they
 * are unavailable.
 */
export async function findContainerPrograms(options: {
  names: readonly string[];
  packages: readonly string[];
  installs: boolean;
  resources: AsyncDisposableStack;
}): Promise<ContainerPrograms | { missing: string }> {
  const { names, packages, installs, resources } = options;
  if (names.every(isInstalled)) return { env: {} };
  if (!installs)
    return { missing: `${names.join(' and ')} not installed; --install-references downloads them` };
  const folder = mkdtempSync(join(tmpdir(), 'skerry-reference-'));
  resources.defer(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, 'root');
  mkdirSync(root);
  try {
    await unpack(packages, { folder, root });
  } catch (error) {
    return {
      missing: `${packages.join(' and ')} cannot be downloaded: ${(error as Error).message.split('\n')[0]}`,
    };
  }
  return {
    env: {
      PATH: [join(root, 'usr/bin'), join(root, 'usr/sbin'), process.env.PATH].join(':'),
      LD_LIBRARY_PATH: ['x86_64-linux-gnu', 'aarch64-linux-gnu']
        .map((name) => join(root, 'usr/lib', name))
        .join(':'),
    },
  };
}

async function unpack(
  packages: readonly string[],
  { folder, root }: { folder: string; root: string },
): Promise<void> {
  const names = await findMissing(packages);
  await run('apt-get', ['download', '-o', 'APT::Sandbox::User=root', ...names], { cwd: folder });
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.deb')))
    await run('dpkg', ['-x', join(folder, name), root]);
}

/** The packages and their missing dependencies, as apt resolves them. */
async function findMissing(packages: readonly string[]): Promise<string[]> {
  const { stdout } = await run('apt-get', ['install', '--simulate', '--no-install-recommends', ...packages]);
  return [...stdout.matchAll(/^Inst (\S+)/gm)].map((match) => match[1] as string);
}

const isInstalled = (name: string): boolean =>
  (process.env.PATH ?? '').split(':').some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false; // The next folder may have it.
    }
  });
