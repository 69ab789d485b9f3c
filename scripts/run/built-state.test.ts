import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { isBuilt, noteBuilt } from './built-state.mjs';

let root: string;
const write = (file: string, text: string): void => {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
};

/** A checkout whose agent depends on one other package, in which all is installed and built. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skerry-built-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  write('pnpm-lock.yaml', 'lockfileVersion: 9');
  write('specs/openapi.yaml', 'openapi: 3.1.0');
  write('scripts/run.mjs', '');
  write('bundling/workarounds/a.ts', '');
  write(
    'packages/envd/package.json',
    '{ "dependencies": { "@skerry/contract": "workspace:*", "fresh": "1" } }',
  );
  write('packages/contract/package.json', '{}');
  write('packages/contract/src/error.ts', 'export {};');
  write('packages/cli/package.json', '{}');
  write('node_modules/.modules.yaml', '');
  write('packages/envd/dist/main.js', 'built');
  noteBuilt(root);
});

describe('a built checkout', () => {
  it('is built as long as nothing changes, and again when a change is undone', () => {
    expect(isBuilt(root)).toBe(true);
    write('packages/contract/src/error.ts', 'export const a = 1;');
    expect(isBuilt(root)).toBe(false);
    write('packages/contract/src/error.ts', 'export {};');
    expect(isBuilt(root)).toBe(true);
    write('packages/cli/src/main.ts', 'runs without a build');
    expect(isBuilt(root)).toBe(true);
  });

  it.each([
    ['a source of the agent is new', () => write('packages/envd/src/new.ts', '')],
    [
      'a package needs another dependency',
      () => write('packages/cli/package.json', '{ "dependencies": {} }'),
    ],
    ['the lockfile changes', () => write('pnpm-lock.yaml', 'lockfileVersion: 10')],
    ['the specs change', () => write('specs/openapi.yaml', 'openapi: 3.1.1')],
    [
      'a source is renamed',
      () => renameSync(join(root, 'bundling/workarounds/a.ts'), join(root, 'bundling/workarounds/b.ts')),
    ],
    [
      'another build replaces the agent',
      () => {
        write('packages/envd/dist/main.new', 'built');
        renameSync(join(root, 'packages/envd/dist/main.new'), join(root, 'packages/envd/dist/main.js'));
      },
    ],
    ['the agent is removed', () => rmSync(join(root, 'packages/envd/dist'), { recursive: true })],
    [
      'another installation replaces the packages',
      () => rmSync(join(root, 'node_modules'), { recursive: true }),
    ],
  ])('is no longer built when %s', (_title, change) => {
    change();
    expect(isBuilt(root)).toBe(false);
  });

  it('is not built before that was noted', () => {
    rmSync(join(root, '.toolchain'), { recursive: true });
    expect(isBuilt(root)).toBe(false);
  });
});
