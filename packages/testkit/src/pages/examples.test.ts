import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';
import { readCodeBlocks } from './code-blocks.ts';
import { createReader, type Reader } from './reader.ts';

const folder = join(workspaceRoot, 'examples');

/** What each example prints. */
const printed: Record<string, string> = {
  files: '1000\n1000\n',
  fork: 'sort numbers.txt: 1 2 3\nsort -r numbers.txt: 3 2 1\nwc -l < numbers.txt: 3\nthe source has a result: false\n',
  hello: 'hello from a sandbox\n\n',
  pause: 'it has gone on counting: true\nit is the same process: true\n',
  server: '200 <h1>served from a sandbox</h1>\n',
};

let stack: SharedStack;
let reader: Reader;
beforeAll(async () => {
  stack = await joinStack();
  reader = createReader(stack.address);
});
afterAll(async () => {
  reader[Symbol.dispose]();
  await stack.leave();
});

describe('the examples', () => {
  it('are those whose output is known', () => {
    const names = readdirSync(folder).filter((file) => file.endsWith('.ts') && file !== 'run.ts');
    expect(names).toEqual(Object.keys(printed).map((name) => `${name}.ts`));
  });

  it.each(Object.entries(printed))('print what is expected: %s', async (name, expected) => {
    expect(await reader.run(process.execPath, [join(folder, 'run.ts'), name])).toBe(expected);
  });

  it('include the program that the README shows', () => {
    const [shown] = readCodeBlocks('README.md').filter(({ language }) => language === 'ts');
    const program = readFileSync(join(folder, 'hello.ts'), 'utf8').replace(/^(\/\/.*\n)+/, '');
    expect(shown?.text).toBe(program);
  });

  it('say which there are, and what is missing without a server', async () => {
    const run = (...argv: string[]) => reader.run(process.execPath, [join(folder, 'run.ts'), ...argv]);
    await expect(run('none')).rejects.toThrow('NAME is one of: files, fork, hello, pause, server');
    const noServer = reader.run(process.execPath, [join(folder, 'run.ts'), 'hello'], {
      SKERRY_API_KEY: '',
      E2B_API_KEY: '',
    });
    await expect(noServer).rejects.toThrow('start a server with');
  });
});
