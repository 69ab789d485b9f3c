import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { databaseFile } from './data-folder.ts';
import { findUse, markOfServer, ownerFile, postgresMark, requireUse } from './folder-use.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-use-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('a data folder', () => {
  it('is free for each command at first', () => {
    expect(findUse(folder)).toBeUndefined();
    for (const use of ['up', 'server', 'node'] as const) requireUse(folder, use);
  });

  it.each([
    ['up', databaseFile],
    ['up', postgresMark],
    ['node', ownerFile],
  ] as const)('belongs to skerry %s once that has used it', (use, toFile) => {
    writeFileSync(toFile(folder), '');
    expect(findUse(folder)).toBe(use);
    requireUse(folder, use);
    expect(() => requireUse(folder, 'server')).toThrow(
      `${folder} belongs to "skerry ${use}": choose another data folder for "skerry server"`,
    );
  });

  it('belongs to skerry server although that has a database too', () => {
    markOfServer(folder);
    writeFileSync(databaseFile(folder), '');
    expect(findUse(folder)).toBe('server');
    expect(() => requireUse(folder, 'up')).toThrow('belongs to "skerry server"');
  });
});
