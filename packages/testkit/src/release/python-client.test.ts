// A client of the kind of Python's e2b package, against the real service, and the program of the page on Python with it.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readCodeBlocks } from '../pages/code-blocks.ts';
import { type Stack, startStack } from '../stack/stack.ts';

const folder = join(import.meta.dirname, 'python');
/** The one for which Debian's packages are. */
const python = '/usr/bin/python3';

let stack: Stack;
beforeAll(async () => {
  if (!existsSync('/usr/lib/python3/dist-packages/httpx/__init__.py'))
    throw new Error('httpx for Python is not on this host: node scripts/system-packages.ts --more');
  stack = await startStack();
});
afterAll(() => stack?.down());

/** Runs a program with the client, and resolves with what it printed. Rejects with that when it fails. */
async function run(argv: readonly string[], env: Record<string, string> = {}) {
  const { apiKey, apiUrl, sandboxUrl } = stack.address;
  return promisify(execFile)(python, ['-B', '-W', 'ignore', ...argv], {
    env: {
      ...{ PATH: process.env.PATH, PYTHONPATH: folder, PYTHONUTF8: '1' },
      ...{ E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl, ...env },
    },
  });
}

describe('a client in Python', () => {
  it.each(['newest', 'earlier'])(
    'does what a program does, and learns of a kill during a command, with the calls of its %s releases',
    async (generation) => {
      const { stderr } = await run([join(folder, 'scenario.py'), '-v'], { GENERATION: generation });
      const ended = [...stderr.matchAll(/^test_\w+ .*\.\.\. (.*)$/gm)].map(([, how]) => how);
      expect(ended).toHaveLength(12);
      expect(new Set(ended)).toEqual(new Set(['ok']));
    },
  );

  it('prints with the program of the page what the page shows', async () => {
    const blocks = readCodeBlocks('docs/python.md');
    const at = blocks.findIndex(({ language }) => language === 'python');
    const made = mkdtempSync(join(tmpdir(), 'skerry-python-'));
    onTestFinished(() => rmSync(made, { recursive: true }));
    writeFileSync(join(made, 'program.py'), blocks[at]?.text ?? '');
    const { stdout } = await run([join(made, 'program.py')]);
    expect(stdout).toBe(blocks[at + 1]?.text);
  });
});
