import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copySynced, fetchDebianProgram } from './fetch-debian-program.ts';

const run = promisify(execFile);
let base: string;
let server: Server;
let url: string;
let architecture: string;

const gpg = (...args: string[]) =>
  run('gpg', ['--homedir', join(base, 'keys'), '--batch', '--yes', '--quiet', ...args]);

/** A signed archive that contains the package `thing`. */
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'archive-'));
  architecture = (await run('dpkg', ['--print-architecture'])).stdout.trim();
  await mkdir(join(base, 'keys'), { mode: 0o700 });
  await gpg('--passphrase', '', '--quick-gen-key', 'archive@example.org', 'ed25519', 'sign', 'never');
  await gpg('--output', join(base, 'keyring.gpg'), '--export');
  await mkdir(join(base, 'package/DEBIAN'), { recursive: true });
  await mkdir(join(base, 'package/usr/bin'), { recursive: true });
  await mkdir(join(base, 'archive/dists/here/main', `binary-${architecture}`), { recursive: true });
  const control = `Package: thing\nVersion: 1\nArchitecture: ${architecture}\nMaintainer: test <archive@example.org>\nDescription: thing\n`;
  await writeFile(join(base, 'package/DEBIAN/control'), control);
  await writeFile(join(base, 'package/usr/bin/thing'), 'content\n');
  await run('dpkg-deb', [
    '--root-owner-group',
    '--build',
    join(base, 'package'),
    join(base, 'archive/thing.deb'),
  ]);
  const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
  const packed = await readFile(join(base, 'archive/thing.deb'));
  const packages = Buffer.from(
    `${control}Filename: thing.deb\nSize: ${packed.length}\nSHA256: ${hash(packed)}\n`,
  );
  const listed = `main/binary-${architecture}/Packages`;
  await writeFile(join(base, 'archive/dists/here', listed), packages);
  const release = `Suite: here\nCodename: here\nComponents: main\nArchitectures: ${architecture}\nDate: ${new Date().toUTCString()}\nSHA256:\n ${hash(packages)} ${packages.length} ${listed}\n`;
  await writeFile(join(base, 'archive/dists/here/Release'), release);
  await gpg(
    '--clearsign',
    '--output',
    join(base, 'archive/dists/here/InRelease'),
    join(base, 'archive/dists/here/Release'),
  );
  server = createServer((request, response) => {
    readFile(join(base, 'archive', request.url ?? '')).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server?.close();
  server?.closeAllConnections();
  // There may be no gpg agent to end.
  await run('gpgconf', ['--homedir', join(base, 'keys'), '--kill', 'all']).catch(() => undefined);
  await rm(base, { recursive: true, force: true });
});

const fetchThing = (keyring = join(base, 'keyring.gpg')): Promise<string> =>
  mkdtemp(join(base, 'target-')).then((targetDir) =>
    fetchDebianProgram(
      {
        name: 'thing',
        release: 'here',
        purpose: 'nothing works',
        archive: { url, keyring },
        assemble: ({ root, to }) => copySynced(join(root, 'usr/bin/thing'), join(to, 'thing')),
      },
      { targetDir },
    ),
  );

const refused = { code: 'unsupported', message: 'thing could not be fetched; nothing works without' };

describe('fetching a program of Debian', () => {
  it('unpacks the program from a package that a signed index lists', async () => {
    const folder = await fetchThing();
    expect(await readFile(join(folder, 'thing'), 'utf8')).toBe('content\n');
    expect(await readdir(join(folder, '..'))).toEqual(['thing']);
    expect((await stat(folder)).mode & 0o777).toBe(0o755);
  });

  it('refuses an index that is signed by another key', async () => {
    await expect(fetchThing('/usr/share/keyrings/debian-archive-keyring.gpg')).rejects.toMatchObject(refused);
  });

  it('refuses a package that differs from the index', async () => {
    const path = join(base, 'archive/thing.deb');
    const packed = await readFile(path);
    const changed = Buffer.from(packed);
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    await writeFile(path, changed);
    await expect(fetchThing()).rejects.toMatchObject(refused);
    await writeFile(path, packed);
  });

  it('refuses a list of packages that differs from the signed index', async () => {
    const path = join(base, 'archive/dists/here/main', `binary-${architecture}`, 'Packages');
    const list = await readFile(path);
    await appendFile(path, '\n');
    await expect(fetchThing()).rejects.toMatchObject(refused);
    await writeFile(path, list);
  });

  it('refuses an index without a signature, also on a host that is configured to accept one', async () => {
    await rm(join(base, 'archive/dists/here/InRelease'));
    const settings = join(base, 'apt.conf.d');
    await mkdir(settings);
    await writeFile(
      join(settings, 'insecure'),
      'APT::Get::AllowUnauthenticated "true";\nAcquire::AllowInsecureRepositories "true";\n',
    );
    const options = { url, keyring: join(base, 'keyring.gpg'), targetDir: join(base, 'insecure') };
    const program = `
      import { fetchDebianProgram } from ${JSON.stringify(new URL('./fetch-debian-program.ts', import.meta.url).href)};
      const { targetDir, ...archive } = ${JSON.stringify(options)};
      const thing = { name: 'thing', release: 'here', purpose: 'nothing works', archive, assemble: async () => {} };
      await fetchDebianProgram(thing, { targetDir }).catch(({ code, message, cause }) =>
        console.log(JSON.stringify({ code, message, cause: cause.message })));`;
    // The settings of the host stay unchanged.
    const script = 'mount --bind "$0" /etc/apt/apt.conf.d && exec "$@"';
    const node = [process.execPath, '--input-type=module', '-e', program];
    const { stdout } = await run('unshare', ['--mount', 'sh', '-c', script, settings, ...node]);
    expect(JSON.parse(stdout)).toMatchObject(refused);
    expect(stdout).toContain('is not signed');
  });
});
