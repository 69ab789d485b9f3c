import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findBaseImage } from './base-rootfs.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'skerry-images-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const minimal = { name: 'base-minimal' };
const write = (name: string, content: object): void =>
  writeFileSync(join(dir, name), JSON.stringify(content));

it('finds the file of the base image that was made last', () => {
  for (const digit of ['1', '2']) writeFileSync(join(dir, `sha256-${digit.repeat(64)}.ext4`), '');
  // The file of an image is removed when nothing needs it, and a folder belongs to a server without root.
  write('base-a.json', {
    ...minimal,
    createdAt: '2026-11-20T10:00:00.000Z',
    image: `sha256:${'2'.repeat(64)}`,
  });
  write('base-b.json', {
    ...minimal,
    createdAt: '2026-11-19T10:00:00.000Z',
    image: `sha256:${'1'.repeat(64)}`,
  });
  write('base-c.json', {
    ...minimal,
    createdAt: '2026-11-21T10:00:00.000Z',
    image: `sha256:${'3'.repeat(64)}`,
  });
  mkdirSync(join(dir, 'base-d'));
  expect(findBaseImage(dir)).toBe(join(dir, `sha256-${'2'.repeat(64)}.ext4`));
});

it('reports a folder without a base image', () => {
  expect(() => findBaseImage(dir)).toThrow(`there is no base image in ${dir}`);
});
