import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  createReadStream,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findServerProgram } from '@skerry/platform/server-program';
import { findFreePort } from '../stack/find-free-port.ts';

/** Debian's docker-registry on loopback, filled through its own interface. */
export interface DebianRegistry extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string;
  /** Pushes an image of one layer, the content of a folder with file capabilities, as `{name}:latest`. `config` has `User`, `Cmd` and others; `owner` is by default root. */
  push(name: string, image: { folder: string; owner?: number } & ImageSettings): Promise<void>;
  /** Pushes layers that are files, the lowest first: all tar archives, or all compressed in one way. */
  pushLayers(
    name: string,
    image: { paths: readonly string[]; compression: 'gzip' | 'zstd' | 'none' } & ImageSettings,
  ): Promise<void>;
  /** The answered requests so far: each with its method and path, such as `GET /v2/name/blobs/sha256:…`. */
  readRequests(): string[];
}

interface ImageSettings {
  env?: readonly string[];
  config?: object;
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
  // The registry writes a line for each request to its output.
  const requests = join(folder, 'requests');
  const output = openSync(requests, 'w');
  const program = findServerProgram('docker-registry');
  if (program === undefined)
    throw new Error('docker-registry is not on this host: node scripts/system-packages.ts --tests');
  const server = spawn(program.path, ['serve', config], {
    stdio: ['ignore', output, 'ignore'],
    env: { ...process.env, ...program.env },
  });
  closeSync(output);
  await waitForAnswer(server, `http://${host}/v2/`);
  const authorization: Record<string, string> =
    credentials === undefined
      ? {}
      : { authorization: `Basic ${btoa(`${credentials.username}:${credentials.password}`)}` };
  const send = (
    url: URL | string,
    request: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> },
  ) => fetch(url, { ...request, headers: { ...authorization, ...request.headers } });

  const pushFile = async (name: string, path: string): Promise<{ digest: string; size: number }> => {
    const hash = createHash('sha256');
    await pipeline(createReadStream(path), hash);
    const digest = `sha256:${hash.digest('hex')}`;
    const { size } = statSync(path);
    const begun = await send(`http://${host}/v2/${name}/blobs/uploads/`, { method: 'POST' });
    const target = new URL(begun.headers.get('location') ?? '', `http://${host}`);
    target.searchParams.set('digest', digest);
    const headers = { 'content-length': String(size) };
    const sent = { method: 'PUT', headers, body: Readable.toWeb(createReadStream(path)), duplex: 'half' };
    await expectCreated(await send(target, sent as Parameters<typeof send>[1]));
    return { digest, size };
  };
  const pushLayers: DebianRegistry['pushLayers'] = async (
    name,
    { paths, compression, env = [], config: more = {} },
  ) => {
    const mediaType = `application/vnd.oci.image.layer.v1.tar${compression === 'none' ? '' : `+${compression}`}`;
    const layers = [];
    for (const path of paths) layers.push({ mediaType, ...(await pushFile(name, path)) });
    const architecture = { x64: 'amd64' }[arch() as string] ?? arch();
    const document = {
      architecture,
      os: 'linux',
      config: { Env: env, ...more },
      rootfs: { type: 'layers' },
    };
    const file = join(folder, 'config.json');
    writeFileSync(file, JSON.stringify(document));
    const configBlob = await pushFile(name, file);
    const type = 'application/vnd.oci.image.manifest.v1+json';
    const manifest = {
      schemaVersion: 2,
      mediaType: type,
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...configBlob },
      layers,
    };
    const url = `http://${host}/v2/${name}/manifests/latest`;
    const headers = { 'content-type': type };
    await expectCreated(await send(url, { method: 'PUT', headers, body: JSON.stringify(manifest) }));
  };

  return {
    host,
    pushLayers,
    readRequests: () =>
      Array.from(
        readFileSync(requests, 'utf8').matchAll(/"([A-Z]+ \S+) HTTP/g),
        ([, request = '']) => request,
      ),
    push: async (name, { folder: content, owner = 0, ...settings }) => {
      const path = join(mkdtempSync(join(folder, 'layer-')), 'layer');
      const tar = [
        '--xattrs',
        '--xattrs-include=security.capability',
        '-C',
        content,
        '--numeric-owner',
        `--owner=any:${owner}`,
        '--group=0',
        '-czf',
        path,
        '.',
      ];
      await promisify(execFile)('tar', tar);
      await pushLayers(name, { paths: [path], compression: 'gzip', ...settings });
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

/** The hash that the registry reads. The password is in no argument of a process. */
function hashPassword(password: string): string {
  const program = 'my $p = <STDIN>; print crypt($p, q($2b$04$abcdefghijklmnopqrstuu))';
  return execFileSync('perl', ['-e', program], { input: password, encoding: 'utf8' });
}

async function waitForAnswer(server: ChildProcess, url: string): Promise<void> {
  for (const deadline = Date.now() + START_MS; Date.now() < deadline; await sleep(20)) {
    if (server.exitCode !== null) throw new Error(`docker-registry ended with ${server.exitCode}`);
    // A registry that does not listen yet refuses the connection: the loop asks again.
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok || response?.status === 401) return;
  }
  throw new Error('docker-registry does not answer');
}
