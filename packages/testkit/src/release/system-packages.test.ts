// What the scripts of a checkout install, on a Debian that has only its packages.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { workspaceRoot } from '../workspace/workspace-copy.ts';

const root = mkdtempSync(join(tmpdir(), 'skerry-debian-'));
const checkout = join(root, 'root/checkout');

beforeAll(() => {
  // What each installed Debian has, and a debootstrap has not: their own units are enabled.
  const argv = ['--variant=minbase', '--include=ca-certificates,e2fsprogs,mount', 'bookworm', root];
  execFileSync('mmdebstrap', [...argv, 'http://deb.debian.org/debian'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  cpSync('/etc/resolv.conf', join(root, 'etc/resolv.conf'), { dereference: true });
  for (const part of ['scripts/system-packages.ts', 'scripts/debian', 'packages/platform/src/testing'])
    cpSync(join(workspaceRoot, part), join(checkout, part), { recursive: true });
  writeFileSync(join(checkout, 'package.json'), '{ "type": "module" }\n');
  // The home of root has this mode.
  mkdirSync(join(root, 'root'), { recursive: true });
  chmodSync(join(root, 'root'), 0o700);
  cpSync(process.execPath, join(root, 'usr/local/bin/node'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Runs Node in the checkout there; returns what it printed. */
function runThere(...argv: string[]): { stdout: string; stderr: string } {
  const script =
    'mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"';
  const env = { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' };
  const command = ['--mount', 'sh', '-c', script, root, 'node', ...argv];
  const { status, stdout, stderr } = spawnSync('unshare', command, { encoding: 'utf8', env });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  return { stdout, stderr };
}

const listPackages = (): string[] =>
  execFileSync('chroot', [root, 'dpkg-query', '-W', '-f', '${Package}\\n'], { encoding: 'utf8' })
    .trim()
    .split('\n');

/** What starts with the host: links of enabled units, and of scripts of System V. */
const listServices = (): string[] =>
  globSync(['etc/systemd/**/*.wants/*', 'etc/rc?.d/S*'], { cwd: root }).toSorted();
const readUsers = (): string => readFileSync(join(root, 'etc/passwd'), 'utf8');

/** Runs the script; returns the new packages and the lines that it printed. */
function bring(...flags: string[]): { added: string[]; lines: string[] } {
  const before = new Set(listPackages());
  const services = listServices();
  const users = readUsers();
  const { stderr } = runThere('/root/checkout/scripts/system-packages.ts', ...flags);
  expect(listServices()).toEqual(services);
  expect(readUsers()).toBe(users);
  return { added: listPackages().filter((name) => !before.has(name)), lines: stderr.trim().split('\n') };
}

const announced = /^installing Debian packages, \S+ [kM]B to fetch and \S+ [kM]B on the disk: (.*)$/;

it('installs for a server what it names first, in one line, and enables no service', () => {
  const { added, lines } = bring();
  expect(lines).toEqual([expect.stringMatching(announced)]);
  expect(
    announced
      .exec(lines[0] ?? '')?.[1]
      ?.split(' ')
      .toSorted(),
  ).toEqual(added.toSorted());
  expect(added).toEqual(expect.arrayContaining(['crun', 'iproute2', 'libnftables1', 'mmdebstrap', 'tini']));
  const others = added.filter((name) => !/^(lib|python3)/.test(name));
  expect(others).toEqual(['crun', 'iproute2', 'media-types', 'mmdebstrap', 'readline-common', 'tini']);
});

it('brings the servers of tests without installing them: they run from the checkout, as root alone can enter it', () => {
  const { added, lines } = bring('--tests');
  expect(
    announced
      .exec(lines[0] ?? '')?.[1]
      ?.split(' ')
      .toSorted(),
  ).toEqual(added.toSorted());
  expect(added).toContain('slirp4netns');
  expect(added.filter((name) => /^(postgresql|docker-registry|nginx|adduser)/.test(name))).toEqual([]);
  const use = join(checkout, 'use.ts');
  writeFileSync(
    use,
    `import { execFileSync } from 'node:child_process';
     import { startPostgres } from './packages/platform/src/testing/postgres-server.ts';
     import { findServerProgram } from './packages/platform/src/testing/server-program.ts';
     const server = await startPostgres();
     console.log(await server.createDatabase(), ...(await server.query('select 6 * 7')));
     await server.remove();
     const { path, env } = findServerProgram('docker-registry')!;
     console.log(execFileSync(path, ['--version'], { encoding: 'utf8', env }));`,
  );
  expect(runThere('/root/checkout/use.ts').stdout).toMatch(
    /^postgres:\/\/skerry@localhost\/test1\S+ 42\n\/root\/checkout\/\.toolchain\/\S+ github\.com\/docker/,
  );
});

it('does nothing when nothing is missing', () => {
  expect(bring('--tests')).toEqual({ added: [], lines: [''] });
});
