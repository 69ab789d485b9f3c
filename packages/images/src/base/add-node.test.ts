import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addNode, fetchNode, hasNode } from './add-node.ts';

let dir: string;
let rootfs: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'skerry-node-'));
  rootfs = join(dir, 'rootfs');
  for (const folder of ['usr/local', 'etc']) mkdirSync(join(rootfs, folder), { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true }));

const write = (name: string, text: string): void => {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), text, { mode: 0o755 });
};
const addFetched = (): void => {
  for (const name of ['bin/node', 'include/node/node.h', 'LICENSE']) write(`fetched/node/${name}`, name);
  for (const name of ['bin/npm-cli.js', 'bin/npx-cli.js', 'docs/a.md']) write(`fetched/npm/${name}`, name);
  addNode(rootfs, { nodeFolder: join(dir, 'fetched/node'), npmFolder: join(dir, 'fetched/npm') });
};

describe('addNode', () => {
  it('puts Node.js and npm where the user may update them, in the place of what is there', () => {
    expect(hasNode(rootfs)).toBe(false);
    write('rootfs/usr/local/include/node/old.h', '');
    addFetched();
    expect(hasNode(rootfs)).toBe(true);
    const local = join(rootfs, 'usr/local');
    for (const name of [
      'bin',
      'bin/node',
      'bin/npm',
      'lib/node_modules',
      'lib/node_modules/npm/bin',
      'share',
    ])
      expect(lstatSync(join(local, name)), name).toMatchObject({ uid: 1000, gid: 1000 });
    expect(readFileSync(join(local, 'bin/npx'), 'utf8')).toBe('bin/npx-cli.js');
    for (const name of ['include/node/old.h', 'lib/node_modules/npm/docs'])
      expect(existsSync(join(local, name)), name).toBe(false);
  });

  it('writes through no link of the image to the outside', () => {
    const outside = join(dir, 'outside');
    mkdirSync(outside);
    rmSync(join(rootfs, 'usr/local'), { recursive: true });
    symlinkSync(outside, join(rootfs, 'usr/local'));
    addFetched();
    expect(existsSync(join(outside, 'bin'))).toBe(false);
    expect(hasNode(rootfs)).toBe(true);
  });
});

describe('fetchNode', () => {
  it.each([
    ['there is no npm', undefined, 'missing_program'],
    ['npm fails', { program: '/bin/false', env: {} }, 'build_failed'],
  ])('rejects when %s', async (_, npm, code) => {
    await expect(fetchNode({ workDir: dir, npm })).rejects.toMatchObject({ code });
  });
});
