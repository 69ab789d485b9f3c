import { spawnSync } from 'node:child_process';

/** What an installation would change, as apt says it. */
export interface Plan {
  /** The packages that are new here, dependencies included. */
  names: string[];
  /** Such as `4,102 kB`. */
  download: string;
  disk: string;
}

const withoutRecommended = ['--no-install-recommends', '--no-remove'];

/** Reads the lists of the archives anew. One that cannot be reached is ignored: what follows decides. */
export function refreshLists(): void {
  run('apt-get', ['update', '-qq']);
}

/** What `installPackages` would install. Throws with the output of apt when it finds no way. */
export function planInstall(packages: readonly string[]): Plan {
  const { stdout, stderr } = run('apt-get', ['install', '--assume-no', ...withoutRecommended, ...packages]);
  const [, names] = /^The following NEW packages will be installed:\n((?: .*\n)+)/m.exec(stdout) ?? [];
  const [, download] = /^Need to get (.*?)(?:\/.*)? of archives/m.exec(stdout) ?? [];
  const [, disk] = /^After this operation, (.*) of additional disk space/m.exec(stdout) ?? [];
  if (names === undefined)
    throw new Error(`apt-get cannot install ${packages.join(' ')}\n${stdout}${stderr}`);
  return { names: names.trim().split(/\s+/), download: download ?? '0 B', disk: disk ?? '0 B' };
}

/** Installs packages of the distribution and what they depend on. Prints nothing; throws with the output when it fails. */
export function installPackages(packages: readonly string[]): void {
  runOrThrow('apt-get', ['install', '--yes', '-qq', ...withoutRecommended, ...packages]);
}

/**
 * The packages that are missing for another one, and itself, each as `name=version`. Upgrades of installed ones are left out.
 * `onEmptyHost` counts none as installed.
 */
export function listMissing(name: string, { onEmptyHost = false } = {}): string[] {
  const options = ['Debug::NoLocking=1', ...(onEmptyHost ? ['Dir::State::status=/dev/null'] : [])];
  const argv = ['install', '--simulate', ...options.flatMap((option) => ['-o', option])];
  const lines = runOrThrow('apt-get', [...argv, ...withoutRecommended, name]).matchAll(
    /^Inst (\S+) \((\S+) /gm,
  );
  return Array.from(lines, ([, missing, version]) => `${missing}=${version}`);
}

/** Runs a program of apt or dpkg in a folder; returns what it printed. Throws with its output when it fails. */
export function runOrThrow(program: string, argv: readonly string[], cwd = '/'): string {
  const { status, stdout, stderr, error } = run(program, argv, cwd);
  if (status === 0) return stdout;
  throw new Error(`${program} ${argv.join(' ')} failed\n${error?.message ?? ''}${stdout}${stderr}`);
}

function run(program: string, argv: readonly string[], cwd = '/') {
  // On Ubuntu needrestart would restart services of the host that use a library.
  const env = { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_SUSPEND: '1' };
  return spawnSync(program, argv, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
