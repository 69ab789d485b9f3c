import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { imagesDir } from '../stack/images-dir.ts';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';
import { type CodeBlock, readCodeBlocks } from './code-blocks.ts';
import { createReader, type Reader } from './reader.ts';
import { runPageProgram, toPrograms, toServerOptions, toSource } from './run-page.ts';
import { createServiceManager, type ServiceManager } from './service-manager.ts';

/** What the pages call the data folder, which here has to be another. */
const DATA = '/var/lib/skerry';
const folder = mkdtempSync(join(tmpdir(), 'skerry-guides-'));
const data = join(folder, 'data');

/** The tests that run blocks of a page: by language, relative to this file. */
export const elsewhere: Record<string, Record<string, string>> = {
  // But for the demo, which installs and builds.
  'README.md': { sh: '../cli/up-on-a-terminal.long.test.ts', ts: 'examples.test.ts' },
  'packages/platform-client/README.md': { ts: 'platform-client.long.test.ts' },
};

/** Files that pages assume that the reader has. */
const files: Record<string, string> = {
  // Its last stage needs no other, so that each build writes one image.
  'project/Dockerfile':
    'FROM python:3.13-slim AS tools\nRUN echo tools > /tools\nFROM python:3.13-slim\nCOPY main.py /srv/\n',
  'project/main.py': 'print(1)\n',
  'src/main.py': 'print(2)\n',
  'app/main.py': 'print(3)\n',
};

const inFolder = (block: CodeBlock): CodeBlock => ({ ...block, text: block.text.replaceAll(DATA, data) });
const llms = readFileSync(join(workspaceRoot, 'llms.txt'), 'utf8');
const listed = [...llms.matchAll(/\]\((\S+\.md)\)/g)].map(([, name = '']) => name);
const isGuide = (name: string): boolean => name.startsWith('docs/guides/');
// What the pages after the guides leave on the disk would make the backup large.
const ordered = [...listed, 'packages/envd/README.md'].toSorted(
  (a, b) => Number(isGuide(b)) - Number(isGuide(a)),
);
const pages = ordered.flatMap((name) => {
  if (name.endsWith('.api.md')) return []; // Declarations alone.
  const blocks = readCodeBlocks(name)
    .filter(({ language }) => elsewhere[name]?.[language] === undefined)
    .map(inFolder);
  const programs = toPrograms(blocks).map((part) => ({
    ...part,
    file: `${name.replaceAll('/', '-').replace(/\.md$/, '')}.${part.language}`,
  }));
  return [{ name, blocks, programs }];
});

/** The words of `ExecStart` in the unit of the page on production, with the program of this checkout. */
function readCommand(): string[] {
  const units = pages.flatMap(({ blocks }) => blocks).filter(({ language }) => language === 'ini');
  const [, line = ''] = /^ExecStart=(.*)$/m.exec(units[0]?.text ?? '') ?? [];
  const [file, ...words] = line.split(' ');
  expect([units.length, file]).toEqual([1, '/usr/local/bin/skerry']);
  const added = pages.flatMap(({ blocks }) => blocks.flatMap((block) => toServerOptions(block) ?? []));
  return [process.execPath, skerryProgram, ...words, ...added, '--images', imagesDir];
}

/** Pages whose blocks take the longest: they build images, copy a whole data folder or wait for a limit. */
const slowPages = new Set([
  'docs/guides/backup.md',
  'docs/guides/first-day.md',
  'docs/guides/fork-and-compare.md',
  'docs/guides/keep-state.md',
  'docs/guides/limits-and-isolation.md',
  'docs/guides/network.md',
  'docs/guides/upgrade.md',
  'docs/templates.md',
  'packages/cli/README.md',
  'packages/sdk/README.md',
]);

/**
 * Declares the tests that run each code block of the pages as it runs for a reader, on one server: the one that the page on production
 * describes, with what other pages add to `skerry up`. Those of the slow pages are tests of `pnpm test:release` alone; that all compile
 * is tested with the others.
 */
export function describePagePrograms(given: 'quick' | 'slow'): void {
  let service: ServiceManager;
  let reader: Reader;
  beforeAll(() => {
    service = createServiceManager({ folder, command: readCommand() });
    reader = createReader(service.start());
    symlinkSync(service.program, join(reader.path, 'bin/systemctl'));
    for (const [file, text] of Object.entries(files)) reader.write(file, text);
    const types = join(workspaceRoot, 'packages/testkit/node_modules/@types/ws');
    cpSync(types, join(reader.path, 'node_modules/@types/ws'), { recursive: true, dereference: true });
  });
  afterAll(async () => {
    service.stop();
    await runProgram(skerryProgram, ['down', '--data', data]);
    reader[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  });

  if (given === 'quick')
    it('has programs that compile strictly', () => {
      const programs = pages.flatMap((page) => page.programs).filter(({ language }) => language === 'ts');
      for (const part of programs) reader.write(part.file, toSource(part));
      reader.check(programs.map(({ file }) => file));
    });

  const own = pages.filter(
    ({ name, programs }) => programs.length > 0 && slowPages.has(name) === (given === 'slow'),
  );
  describe.each(own)('the page $name', ({ programs }) => {
    it.each(programs.map((part) => [part.language, part] as const))(
      'prints with its %s blocks what it shows',
      async (_language, part) => {
        reader.write(part.file, toSource(part));
        const printed = await runPageProgram(reader, part, part.file);
        expect(printed).toHaveLength(part.blocks.length);
        for (const [at, expected] of part.expected.entries()) {
          if (expected !== undefined) expect(printed[at]).toBe(expected);
        }
      },
    );
  });
}
