// Which programs `scripts/run.mjs` starts in a checkout with a pnpm, a turbo and a Node that do nothing.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';

let root: string;
const write = (file: string, text: string): void => {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text, { mode: 0o755 });
};

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skerry-run-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  cpSync(join(import.meta.dirname, '../run.mjs'), join(root, 'scripts/run.mjs'));
  cpSync(import.meta.dirname, join(root, 'scripts/run'), { recursive: true });
  write('package.json', '{ "packageManager": "pnpm@1.0.0" }');
  for (const program of [
    '.toolchain/pnpm-1.0.0/bin/pnpm',
    'node_modules/.bin/turbo',
    'node_modules/.bin/node',
  ])
    write(program, '#!/bin/sh\n');
  write('specs/openapi.yaml', 'openapi: 3.1.0');
  write('bundling/bundle.ts', '');
  write('node_modules/.modules.yaml', '');
  write('packages/envd/package.json', '{}');
  write('packages/envd/src/main.ts', '');
  write('packages/envd/dist/main.js', 'built');
  write('packages/cli/package.json', '{}');
});

/** Runs a job to its end; returns the programs that it started. */
function run(job: string): string[] {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/run.mjs'), job], {
    encoding: 'utf8',
    env: { ...process.env, NODE_DEBUG: 'child_process' },
  });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  return Array.from(stderr.matchAll(/^ {2}file: '([^']+)'/gm), ([, file = '']) => file);
}

it.each(['skerry', 'example'])('%s starts nothing but its own program when nothing has changed', (job) => {
  expect(run(job)).toEqual(['pnpm', 'turbo', 'node']);
  expect(run(job)).toEqual(['node']);
  write('packages/envd/src/main.ts', 'changed');
  expect(run(job)).toEqual(['pnpm', 'turbo', 'node']);
  expect(run(job)).toEqual(['node']);
});
