import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startStack } from '../stack/stack.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';
import { findVersion } from './base-page.ts';
import { promisedLocales, promisedPrograms, promisedTerminals } from './promised-programs.ts';
import { type BaseImageContents, readBaseImage } from './read-base-image.ts';

const args = ['--base', 'full'];
// Not in a hook, which has a limit: this makes the image, for a minute on a machine with nothing else to do.
const stack = await startStack({ args });

let sandbox: Sandbox;
let contents: BaseImageContents;
beforeAll(async () => {
  sandbox = await Sandbox.create({ ...stack.connection, timeoutMs: 600_000, allowInternetAccess: false });
  contents = await readBaseImage(sandbox);
});
afterAll(() => stack.down());

const output = async (command: string): Promise<string> =>
  (await sandbox.commands.run(command, { timeoutMs: 120_000 })).stdout.trim();

describe('the template base', () => {
  it('has every program, locale and terminal that its page promises', async () => {
    const missing = contents.versions.filter(({ name, firstLine }) => !findVersion(name, firstLine));
    expect(missing).toEqual([]);
    const locale = `LANG=en_US.UTF-8 python3 -c 'import locale; print(locale.setlocale(locale.LC_ALL, ""))'`;
    expect(await output(locale)).toBe('en_US.UTF-8');
    expect(contents.locales).toEqual(expect.arrayContaining([...promisedLocales]));
    expect(contents.terminals).toEqual(expect.arrayContaining([...promisedTerminals]));
  });

  it('is described by a page with each of them', () => {
    const page = readFileSync(join(workspaceRoot, 'docs/base-image.md'), 'utf8');
    const names = [...promisedPrograms.map(({ name }) => name), ...promisedLocales, ...promisedTerminals];
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('makes environments of Python, installs packages and compiles, all without a network', async () => {
    expect(await output('python3 -m venv own && own/bin/pip --version')).toContain('/home/user/own/');
    const source = `mkdir one && cd one && echo 'print("installed")' > one.py
      echo 'from setuptools import setup; setup(name="one", py_modules=["one"])' > setup.py
      pip install -q --no-build-isolation . && cd / && python3 -m one`;
    expect(await output(source)).toBe('installed');
    expect(await output(`echo 'int main() { return 0; }' > a.cc && g++ a.cc && ./a.out && echo ran`)).toBe(
      'ran',
    );
    const tool = `mkdir two && cd two && echo '{"name":"two","version":"1.0.0","bin":"run.js"}' > package.json
      printf '#!/usr/bin/env node\\nconsole.log([3, 1].toSorted())' > run.js
      npm install --global --silent "$PWD/$(npm pack --silent)" && cd / && two`;
    expect(await output(tool)).toBe('[ 1, 3 ]');
  });
});
