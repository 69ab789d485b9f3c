import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { makeAuthority, makeServerCertificate } from '@skerry/runtime/node-certificates';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openCertificateFolder } from './certificate-folder.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'skerry-certificate-folder-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const makePem = async (): Promise<string> => {
  const authority = await makeAuthority();
  const { cert, key } = await makeServerCertificate('boxes.test', { authority, days: 30 });
  return `${key}${cert}${authority.cert}`;
};

it('keeps one account key, which other users cannot read', () => {
  const folder = openCertificateFolder(join(dir, 'acme'), 'boxes.test');
  const first = folder.readAccountKey();
  expect(folder.readAccountKey().equals(first)).toBe(true);
  expect(statSync(join(dir, 'acme')).mode & 0o777).toBe(0o700);
  expect(statSync(join(dir, 'acme/account.key')).mode & 0o777).toBe(0o600);
});

it('has no certificate of another domain, and none in a file that is damaged', async () => {
  const folder = openCertificateFolder(dir, 'boxes.test');
  folder.write(await makePem());
  expect(folder.readValidity()?.until).toBeGreaterThan(Date.now());
  expect(openCertificateFolder(dir, 'other.test').readValidity()).toBeUndefined();
  writeFileSync(folder.file, 'damaged');
  expect(folder.readValidity()).toBeUndefined();
});

it('keeps the certificate that it has when another one cannot be used, and says why', async () => {
  const folder = openCertificateFolder(dir, 'boxes.test');
  const good = await makePem();
  folder.write(good);
  const [authority, stranger] = [await makeAuthority(), await makeAuthority()];
  const make = (domain: string, days = 30) => makeServerCertificate(domain, { authority, days });
  const [made, second] = [await make('boxes.test'), await make('boxes.test')];
  const foreign = await make('other.test');
  const old = await make('boxes.test', -1 / 48);
  const refused: [pem: string, why: RegExp][] = [
    ['', /no certificate in PEM form/],
    [made.key, /no certificate in PEM form/],
    [made.cert, /cannot be used/],
    [`${second.key}${made.cert}`, /cannot be used: .*mismatch/],
    [`${made.key}${made.cert.slice(0, 200)}`, /cannot be used/],
    [`${foreign.key}${foreign.cert}`, /for DNS:other.test, DNS:\*.other.test, and not for boxes.test/],
    [`${old.key}${old.cert}`, /expired at \d{4}-/],
    [`${made.key}${made.cert}${stranger.cert}`, /certificate 2 of it did not sign the one before/],
  ];
  for (const [pem, why] of refused) {
    expect(() => folder.write(pem), String(why)).toThrow(why);
    expect(readFileSync(folder.file, 'utf8')).toBe(good);
  }
});

it('remembers attempts until a certificate is written, and forgets those in a file that is damaged', async () => {
  const folder = openCertificateFolder(dir, 'boxes.test');
  expect(folder.readAttempts()).toBeUndefined();
  folder.writeAttempts({ count: 2, nextAt: 12_345 });
  expect(openCertificateFolder(dir, 'boxes.test').readAttempts()).toEqual({ count: 2, nextAt: 12_345 });
  folder.write(await makePem());
  expect(folder.readAttempts()).toBeUndefined();
  for (const damaged of ['{"count":', '{}', '{"count":1,"nextAt":"soon"}']) {
    writeFileSync(folder.attemptsFile, damaged);
    expect(folder.readAttempts()).toBeUndefined();
  }
});

it('has a key and its certificate at every moment at which the process may be killed', {
  timeout: 60_000,
}, async () => {
  const folder = openCertificateFolder(dir, 'boxes.test');
  const pems = [await makePem(), await makePem()];
  folder.write(pems[0] ?? '');
  const program = join(dir, 'replace.ts');
  const module = JSON.stringify(join(import.meta.dirname, 'certificate-folder.ts'));
  writeFileSync(
    program,
    `import { openCertificateFolder } from ${module};
const folder = openCertificateFolder(${JSON.stringify(dir)}, 'boxes.test');
const pems = ${JSON.stringify(pems)};
process.stdout.write('begun');
for (let at = 0; ; at += 1) folder.write(pems[at % 2]);`,
  );
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    await delay(attempt * 3);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const kept = readFileSync(folder.file, 'utf8');
    expect(pems).toContain(kept);
    expect(() => createSecureContext({ cert: kept, key: kept })).not.toThrow();
  }
});
