import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CredentialFiles, CredentialsError, loadCredentials } from './credentials.ts';
import { makeTestAuthority, type TestAuthority } from './testing/write-credentials.ts';

let folder: string;
let authority: TestAuthority;
let files: CredentialFiles;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-credentials-'));
  authority = await makeTestAuthority(folder);
  files = await authority.write({ role: 'node', name: 'a' });
});
afterEach(() => rmSync(folder, { recursive: true }));

const problemOf = (given: CredentialFiles, more: { role?: 'node' | 'platform'; now?: Date } = {}): string => {
  try {
    loadCredentials(given, { role: 'node', ...more });
    return 'none';
  } catch (error) {
    expect(error).toBeInstanceOf(CredentialsError);
    return (error as Error).message.replaceAll(`${folder}/`, '');
  }
};

describe('credentials', () => {
  it('are a certificate with its key, its authority and a role', () => {
    const { role, expiresAt } = loadCredentials(files, { role: 'node' });
    expect(role).toEqual({ role: 'node', name: 'a' });
    expect(Math.abs(expiresAt.getTime() - Date.now() - 86_400_000)).toBeLessThan(120_000);
  });

  it('are refused with the file and the reason when they do not fit', async () => {
    const other = await authority.write({ role: 'node', name: 'b' });
    expect(problemOf({ ...files, key: other.key })).toBe('b.key is not the private key of a.crt');
    const foreign = await makeTestAuthority(join(folder, 'foreign'));
    const { ca } = await foreign.write({ role: 'platform' });
    expect(problemOf({ ...files, ca })).toBe('a.crt is not signed by foreign/ca.crt');
    expect(problemOf(files, { role: 'platform' })).toBe('a.crt is for node "a", and this is the platform');
    const platform = await authority.write({ role: 'platform' });
    expect(problemOf(platform)).toBe('platform.crt is for the platform, and this is a node');
    expect(problemOf({ ...files, cert: join(folder, 'none') })).toBe('none cannot be read: ENOENT');
    writeFileSync(join(folder, 'text'), 'text');
    expect(problemOf({ ...files, cert: join(folder, 'text') })).toBe('text is not a certificate in PEM form');
  });

  it('are refused when they have expired or are not valid yet, and when others may read the key', () => {
    const day = 86_400_000;
    expect(problemOf(files, { now: new Date(Date.now() + 2 * day) })).toMatch(/^a\.crt expired on 2/);
    expect(problemOf(files, { now: new Date(Date.now() - day) })).toMatch(/^a\.crt is valid from .* only/);
    chmodSync(files.key, 0o640);
    expect(problemOf(files)).toBe('other users may read the private key a.key: run chmod 600 on it');
  });

  it('may be signed by an authority that is being replaced', async () => {
    const next = await makeTestAuthority(join(folder, 'next'));
    const both = join(folder, 'both.crt');
    writeFileSync(both, next.authority.cert + authority.authority.cert);
    expect(problemOf({ ...files, ca: both })).toBe('none');
  });
});
