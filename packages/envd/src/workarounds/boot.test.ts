import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'envd-boot-'));
  mkdirSync(join(folder, 'compiled'));
  const source = readFileSync(new URL('./boot.ts', import.meta.url), 'utf8');
  writeFileSync(join(folder, 'main.mjs'), stripTypeScriptTypes(source));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, code: string): void =>
  writeFileSync(join(folder, name), `(function (exports, require, __dirname) {${code}\n})`);

/** Runs the bundle, and then a program that knows its scripts; returns what both have written. */
const run = (then = ''): string =>
  execFileSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { scripts } from ${JSON.stringify(join(folder, 'main.mjs'))};${then}`,
    ],
    { encoding: 'utf8' },
  );

const keep = (): string => `
import { writeFileSync } from 'node:fs';
for (const [name, script] of scripts)
  writeFileSync(${JSON.stringify(folder)} + '/compiled/' + name, script.createCachedData());`;
const tellRefused = 'console.log([...scripts.values()].map((script) => script.cachedDataRejected));';

it('loads each file once, and what it asks for of Node', () => {
  write('agent.js', 'require("./b.js"); const { b } = require("./b.js"); console.log(b, __dirname);');
  write('b.js', 'exports.b = require("node:path").basename("/x/y"); console.log("loaded");');
  expect(run()).toBe(`loaded\ny ${folder}\n`);
});

it('shows a file that is being loaded what it asked for has exported so far', () => {
  write('agent.js', 'exports.a = 1; require("./b.js");');
  write('b.js', 'console.log(require("./agent.js").a);');
  expect(run()).toBe('1\n');
});

it('takes what was compiled of the files, functions that had run among it', () => {
  const unused = `const unused = () => "${'x'.repeat(5_000)}";`;
  write('agent.js', `${unused} const used = () => "${'y'.repeat(2_000)}"; console.log(used().length);`);
  run(keep());
  expect(run(tellRefused)).toBe('2000\n[ false ]\n');
  const compiled = readFileSync(join(folder, 'compiled/agent.js'), 'latin1');
  expect([compiled.includes('yyyy'), compiled.includes('xxxx')]).toEqual([true, false]);
});

it('runs without the parts of the cache that it cannot use', () => {
  write('agent.js', 'console.log("runs");');
  writeFileSync(join(folder, 'compiled/agent.js'), 'of another version');
  expect(run(tellRefused)).toBe('runs\n[ true ]\n');
  rmSync(join(folder, 'compiled'), { recursive: true });
  expect(run()).toBe('runs\n');
});
