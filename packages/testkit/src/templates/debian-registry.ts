import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  createReadStream,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Debian's docker-registry on loopback, filled through its own interface. */
export interface DebianRegistry extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string;
  /** Pushes an image of one layer, the content of a folder, as `{name}:latest`. `config` has `User`, `Cmd` and others. */
  push(name: string, image: { folder: string } & ImageSettings): Promise<void>;
  /** The same of layers in files, the lowest first, all tar archives or all compressed with gzip. */
  pushLayers(
    name: string,
    image: { paths: readonly string[]; compression: 'gzip' | 'none' } & ImageSettings,
  ): Promise<void>;
}

interface ImageSettings {
  env?: readonly string[];
  config?: object;
}

const START_MS = 10_000;

export async function startDebianRegistry(): Promise<DebianRegistry> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-registry-'));
  const host = `127.0.0.1:${await findFreePort()}`;
  const config = join(folder, 'config.yml');
  writeFileSync(
    config,
    `version: 0.1\nlog: { level: error }\nstorage: { filesystem: { rootdirectory: ${folder}/data } }\nhttp: { addr: ${host} }\n`,
  );
  const server = spawn('docker-registry', ['serve', config], { stdio: 'ignore' });
  await waitForAnswer(server, `http://${host}/v2/`);

  const pushFile = async (name: string, path: string): Promise<{ digest: string; size: number }> => {
    const hash = createHash('sha256');
    await pipeline(createReadStream(path), hash);
    const digest = `sha256:${hash.digest('hex')}`;
    const { size } = statSync(path);
    const begun = await fetch(`http://${host}/v2/${name}/blobs/uploads/`, { method: 'POST' });
    const target = new URL(begun.headers.get('location') ?? '', `http://${host}`);
    target.searchParams.set('digest', digest);
    const headers = { 'content-length': String(size) };
    const sent = { method: 'PUT', headers, body: Readable.toWeb(createReadStream(path)), duplex: 'half' };
    await expectCreated(await fetch(target, sent as RequestInit));
    return { digest, size };
  };
  const pushLayers: DebianRegistry['pushLayers'] = async (
    name,
    { paths, compression, env = [], config: more = {} },
  ) => {
    const mediaType = `application/vnd.oci.image.layer.v1.tar${compression === 'gzip' ? '+gzip' : ''}`;
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
    await expectCreated(await fetch(url, { method: 'PUT', headers, body: JSON.stringify(manifest) }));
  };

  return {
    host,
    pushLayers,
    push: async (name, { folder: content, ...settings }) => {
      const path = join(folder, 'layer');
      const tar = ['-C', content, '--numeric-owner', '--owner=0', '--group=0', '-czf', path, '.'];
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
    if (response?.ok) return;
  }
  throw new Error('docker-registry does not answer');
}
