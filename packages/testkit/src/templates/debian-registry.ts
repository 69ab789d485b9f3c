import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Debian's docker-registry on loopback, filled through its own interface. */
export interface DebianRegistry extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string;
  /** Pushes an image of one layer, the content of a folder, as `{name}:latest`. `config` has `User`, `Cmd` and others; `owner` is by default root. */
  push(
    name: string,
    image: { folder: string; env?: readonly string[]; config?: object; owner?: number },
  ): Promise<void>;
}

export interface DebianRegistryOptions {
  /** Without them the registry answers 401. Default: it answers all. */
  credentials?: { username: string; password: string };
}

const START_MS = 10_000;

export async function startDebianRegistry({
  credentials,
}: DebianRegistryOptions = {}): Promise<DebianRegistry> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-registry-'));
  const host = `127.0.0.1:${await findFreePort()}`;
  const config = join(folder, 'config.yml');
  const settings = [
    'version: 0.1',
    'log: { level: error }',
    `storage: { filesystem: { rootdirectory: ${folder}/data } }`,
    `http: { addr: ${host} }`,
  ];
  if (credentials !== undefined) {
    const users = join(folder, 'users');
    writeFileSync(users, `${credentials.username}:${hashPassword(credentials.password)}\n`);
    settings.push(`auth: { htpasswd: { realm: here, path: ${users} } }`);
  }
  writeFileSync(config, `${settings.join('\n')}\n`);
  const server = spawn('docker-registry', ['serve', config], { stdio: 'ignore' });
  await waitForAnswer(server, `http://${host}/v2/`);
  const authorization: Record<string, string> =
    credentials === undefined
      ? {}
      : { authorization: `Basic ${btoa(`${credentials.username}:${credentials.password}`)}` };
  const send = (url: URL | string, request: RequestInit & { headers?: Record<string, string> }) =>
    fetch(url, { ...request, headers: { ...authorization, ...request.headers } });

  const pushBlob = async (name: string, bytes: Buffer): Promise<{ digest: string; size: number }> => {
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    const begun = await send(`http://${host}/v2/${name}/blobs/uploads/`, { method: 'POST' });
    const target = new URL(begun.headers.get('location') ?? '', `http://${host}`);
    target.searchParams.set('digest', digest);
    await expectCreated(await send(target, { method: 'PUT', body: new Uint8Array(bytes) }));
    return { digest, size: bytes.length };
  };

  return {
    host,
    push: async (name, { folder: content, env = [], config: more = {}, owner = 0 }) => {
      const tar = ['-C', content, '--numeric-owner', `--owner=any:${owner}`, '--group=0', '-cz', '.'];
      const { stdout } = await promisify(execFile)('tar', tar, { encoding: 'buffer', maxBuffer: 1 << 28 });
      const layer = await pushBlob(name, stdout);
      const architecture = { x64: 'amd64' }[arch() as string] ?? arch();
      const document = {
        architecture,
        os: 'linux',
        config: { Env: env, ...more },
        rootfs: { type: 'layers' },
      };
      const configBlob = await pushBlob(name, Buffer.from(JSON.stringify(document)));
      const type = 'application/vnd.oci.image.manifest.v1+json';
      const manifest = {
        schemaVersion: 2,
        mediaType: type,
        config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...configBlob },
        layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', ...layer }],
      };
      const url = `http://${host}/v2/${name}/manifests/latest`;
      const headers = { 'content-type': type };
      await expectCreated(await send(url, { method: 'PUT', headers, body: JSON.stringify(manifest) }));
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      if (server.kill()) await closed;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A folder with a file system whose only program is Debian's static busybox, without a C library. */
export function makeBusyboxFolder(applets: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-busybox-'));
  for (const name of ['bin', 'etc']) mkdirSync(join(folder, name));
  copyFileSync('/bin/busybox', join(folder, 'bin/busybox'));
  for (const applet of applets) symlinkSync('busybox', join(folder, 'bin', applet));
  writeFileSync(join(folder, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  writeFileSync(join(folder, 'etc/group'), 'root:x:0:\n');
  mkdirSync(join(folder, 'root'));
  return folder;
}

async function expectCreated(response: Response): Promise<void> {
  if (response.status !== 201)
    throw new Error(`${response.url} answered ${response.status}: ${await response.text()}`);
}

/** As the registry reads it. The password is in no argument of a process. */
function hashPassword(password: string): string {
  const program = 'my $p = <STDIN>; print crypt($p, q($2b$04$abcdefghijklmnopqrstuu))';
  return execFileSync('perl', ['-e', program], { input: password, encoding: 'utf8' });
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function waitForAnswer(server: ChildProcess, url: string): Promise<void> {
  for (const deadline = Date.now() + START_MS; Date.now() < deadline; await sleep(20)) {
    if (server.exitCode !== null) throw new Error(`docker-registry ended with ${server.exitCode}`);
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok || response?.status === 401) return;
  }
  throw new Error('docker-registry does not answer');
}
