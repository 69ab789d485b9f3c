import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, type IncomingHttpStatusHeader } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFreePort } from '../stack/find-free-port.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { type AcmeServers, startAcmeServers, toKeyFile } from './acme-servers.ts';

const VALID_SECONDS = 36;
const RECORD = '_acme-challenge.boxes.test';

let servers: AcmeServers;
let root: string;
beforeAll(async () => {
  servers = await startAcmeServers({ validSeconds: VALID_SECONDS });
  root = await servers.readRoot();
});
afterAll(() => servers[Symbol.asyncDispose]());

interface Started {
  stack: Stack;
  port: number;
}
const start = async (args: readonly string[], dataDir?: string): Promise<Started> => {
  const port = await findFreePort();
  const stack = await startStack({
    ...(dataDir !== undefined && { dataDir }),
    args: [
      ...[
        '--acme',
        '--acme-url',
        servers.directoryUrl,
        '--acme-wait',
        '1s',
        '--acme-email',
        'admin@boxes.test',
      ],
      ...[
        '--domain',
        `boxes.test:${port}`,
        '--port',
        String(port),
        '--no-memory',
        '--log-level',
        'info',
        ...args,
      ],
    ],
  });
  return { stack, port };
};
const byUpdates = () => ['--acme-dns', `127.0.0.1:${servers.dnsPort}`, '--acme-dns-key', servers.keyFile];

/** The certificate that a server shows for a name to a client that trusts the authority. */
const readServed = async (port: number, servername: string): Promise<string> => {
  const socket = connectTls({ host: '127.0.0.1', port, servername, ca: root });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
};

describe('a server with --acme', () => {
  let dataDir: string;
  let started: Started;
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'skerry-acme-data-'));
    started = await start(byUpdates(), dataDir);
  });
  afterAll(async () => {
    await started.stack.down();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('serves the domain and the names below with a certificate that it has proved by updates of the DNS', async () => {
    const served = await readServed(started.port, 'boxes.test');
    expect(await readServed(started.port, '3000-i1.boxes.test')).toBe(served);
    expect(await servers.readRecords(RECORD)).toEqual([]);
    const folder = join(dataDir, 'acme');
    expect(readdirSync(folder).toSorted()).toEqual(['account.key', 'boxes.test.pem']);
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  });

  it('renews it when two thirds of its life are over, while connections go on', {
    timeout: 120_000,
  }, async () => {
    const session = connect(`https://127.0.0.1:${started.port}`, { servername: 'boxes.test', ca: root });
    const list = async (): Promise<number | undefined> => {
      const { apiKey } = started.stack.address;
      const stream = session.request({
        ':authority': 'boxes.test',
        ':path': '/v2/sandboxes',
        'x-api-key': apiKey,
      });
      const [headers] = (await once(stream, 'response')) as [IncomingHttpStatusHeader];
      stream.close();
      return headers[':status'];
    };
    expect(await list()).toBe(200);
    const before = await readServed(started.port, 'boxes.test');
    await expect
      .poll(() => readServed(started.port, 'boxes.test'), { timeout: VALID_SECONDS * 2_000, interval: 500 })
      .not.toBe(before);
    expect(started.stack.log()).toContain('the certificate was renewed');
    expect(started.stack.log()).not.toContain('is left in the DNS');
    expect(await servers.readRecords(RECORD)).toEqual([]);
    expect(await list()).toBe(200);
    session.destroy();
  });

  it('takes its certificate from the data folder when it starts again', { timeout: 60_000 }, async () => {
    await started.stack.stop();
    const wrong = join(servers.folder, 'unused.key');
    writeFileSync(wrong, toKeyFile('dW51c2Vk'), { mode: 0o600 });
    const kept = new X509Certificate(readFileSync(join(dataDir, 'acme', 'boxes.test.pem'))).fingerprint256;
    started = await start(['--acme-dns', '127.0.0.1:1', '--acme-dns-key', wrong], dataDir);
    expect(await readServed(started.port, 'boxes.test')).toBe(kept);
  });
});

describe('a hook', () => {
  /** A program that sends its action to the DNS server, as one of a provider does. */
  const writeHook = (script: string): string => {
    const path = join(servers.folder, 'hook');
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  };

  it('gets action, name and value as arguments, for the domain and for the names below', {
    timeout: 60_000,
  }, async () => {
    const calls = join(servers.folder, 'calls');
    const hook = writeHook(
      [
        `printf '%s\\n' "$*" >> ${calls}`,
        'case $1 in add) change="zone-set boxes.test. $2. 60 TXT $3";; remove) change="zone-unset boxes.test. $2. TXT $3";; esac',
        `for step in "zone-begin boxes.test." "$change" "zone-commit boxes.test."; do ${servers.control} $step || exit; done`,
      ].join('\n'),
    );
    const { stack, port } = await start(['--acme-hook', hook]);
    expect(await readServed(port, '3000-i1.boxes.test')).toBe(await readServed(port, 'boxes.test'));
    const lines = readFileSync(calls, 'utf8').trim().split('\n');
    expect(lines.map((line) => line.replace(/ [\w-]{43}$/, ''))).toEqual(
      ['add', 'add', 'remove', 'remove'].map((action) => `${action} ${RECORD}`),
    );
    await stack.down();
  });

  it('that fails keeps the server from starting, with what it has written', { timeout: 60_000 }, async () => {
    const hook = writeHook('echo "no such zone: $2" >&2; exit 3');
    await expect(start(['--acme-hook', hook])).rejects.toThrow(
      `add ${RECORD} ended with 3: no such zone: ${RECORD}`,
    );
  });
});

describe('a server without a certificate does not start', { timeout: 60_000 }, () => {
  it.each<[string, () => string[], string]>([
    [
      'a key that the DNS server does not know',
      () => useKey('b3RoZXI='),
      'it does not know the key, or the secret',
    ],
    [
      'a DNS server that is not there',
      () => ['--acme-dns', '127.0.0.1:1', '--acme-dns-key', servers.keyFile],
      'does not answer',
    ],
    [
      'a zone that the DNS server has not',
      () => [...byUpdates(), '--domain', 'other.test'],
      'has no zone that _acme-challenge.other.test is in',
    ],
    [
      'an authority that is not there',
      () => [...byUpdates(), '--acme-url', 'https://localhost:1/dir'],
      'localhost:1 cannot be reached',
    ],
    [
      'an address that is no authority',
      () => [...byUpdates(), '--acme-url', servers.directoryUrl.replace('dir', 'nonce-plz')],
      'is not the directory of an ACME authority',
    ],
  ])('with %s, and says so', async (_what, args, message) => {
    await expect(start(args())).rejects.toThrow(message);
    expect(await servers.readRecords(RECORD)).toEqual([]);
  });

  const useKey = (secret: string): string[] => {
    const path = join(servers.folder, 'wrong.key');
    writeFileSync(path, toKeyFile(secret), { mode: 0o600 });
    return ['--acme-dns', `127.0.0.1:${servers.dnsPort}`, '--acme-dns-key', path];
  };
});
