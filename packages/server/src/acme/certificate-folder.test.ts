import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { makeAuthority } from '@skerry/runtime/node-certificates';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openCertificateFolder } from './certificate-folder.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'skerry-certificate-folder-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const makePem = async (): Promise<string> => {
  const { cert, key } = await makeAuthority({ days: 30 });
  return `${key}${cert}`;
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
  folder.write('damaged');
  expect(folder.readValidity()).toBeUndefined();
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
