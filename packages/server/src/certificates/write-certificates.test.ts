import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCredentials } from '@skerry/runtime/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeCertificates } from './write-certificates.ts';

let folder: string;
let dir: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-certificates-'));
  dir = join(folder, 'made');
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (names: string[], { renew = false } = {}) => writeCertificates({ dir, names, days: 30, renew });
const read = (name: string): string => readFileSync(join(dir, name), 'utf8');
const modeOf = (path: string): number => statSync(path).mode & 0o777;
const load = (name: string) =>
  loadCredentials(
    { cert: join(dir, `${name}.crt`), key: join(dir, `${name}.key`), ca: join(dir, 'ca.crt') },
    { role: name === 'platform' ? 'platform' : 'node' },
  );

describe('certificates', () => {
  it('are made with an authority and the platform, in files that fit and whose keys are private', async () => {
    const made = await write(['a', 'b']);
    const files = ['ca', 'platform', 'a', 'b'].map((name) => join(dir, `${name}.crt`));
    expect(made.map(({ cert }) => cert)).toEqual(files);
    expect(load('platform').role).toEqual({ role: 'platform' });
    expect(load('b').role).toEqual({ role: 'node', name: 'b' });
    expect(load('a').expiresAt).toEqual(made[2]?.expiresAt);
    expect(modeOf(dir)).toBe(0o700);
    const keys = readdirSync(dir).filter((name) => name.endsWith('.key'));
    expect(keys.map((name) => modeOf(join(dir, name)))).toEqual([0o600, 0o600, 0o600, 0o600]);
  });

  it('are added later by the same authority, and replaced only when that is wanted', async () => {
    await write(['a']);
    const [ca, platform, a] = [read('ca.key'), read('platform.crt'), read('a.crt')];
    expect((await write(['b'])).map(({ cert }) => cert)).toEqual([join(dir, 'b.crt')]);
    await expect(write(['c', 'a'])).rejects.toThrow('a.crt is there already: give --renew to replace it');
    expect(readdirSync(dir)).not.toContain('c.crt');
    await write(['a'], { renew: true });
    expect([read('ca.key'), read('platform.crt')]).toEqual([ca, platform]);
    expect(read('a.crt')).not.toBe(a);
    expect(load('a').role).toEqual({ role: 'node', name: 'a' });
    const long = `ip-10-0-0-1.${'a'.repeat(63)}.internal`;
    await write([long]);
    expect(load(long).role).toEqual({ role: 'node', name: long });
    await write(['platform'], { renew: true });
    expect(read('platform.crt')).not.toBe(platform);
  });

  it('are refused for names that cannot be, and without a half of the authority', async () => {
    for (const name of ['ca', 'A', '-a', '../a', 'a..b', '', 'a'.repeat(64), 'a.'.repeat(127)])
      await expect(write([name])).rejects.toThrow(`"${name}" cannot be the name of a node`);
    expect(readdirSync(folder)).toEqual([]);
    await write(['a']);
    rmSync(join(dir, 'ca.key'));
    await expect(write(['b'])).rejects.toThrow('ca.key is missing');
  });
});
