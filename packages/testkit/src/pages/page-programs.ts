import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StackAddress } from '../stack/stack-client.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';
import { readCodeBlocks } from './code-blocks.ts';
import { createReader, type Reader } from './reader.ts';
import { toPrograms } from './run-page.ts';

/** The tests that run blocks of a page: by language, relative to this file. */
export const elsewhere: Record<string, Record<string, string>> = {
  // But for the demo, which installs and builds.
  'README.md': { sh: '../cli/up-on-a-terminal.long.test.ts', ts: 'examples.test.ts' },
  // The shell installs packages for the programs.
  'docs/agent-frameworks.md': {
    sh: '../release/e2b-programs.test.ts',
    ts: '../release/e2b-programs.test.ts',
  },
  'docs/python.md': {
    sh: '../release/python-client.test.ts',
    python: '../release/python-client.test.ts',
    text: '../release/python-client.test.ts',
  },
  'packages/platform-client/README.md': { ts: 'platform-client.long.test.ts' },
};

/** Files that pages assume that the reader has. */
const files: Record<string, string> = {
  // The last stage needs no other, so that each build writes one image.
  'project/Dockerfile':
    'FROM python:3.13-slim AS tools\nRUN echo tools > /tools\nFROM python:3.13-slim\nCOPY main.py /srv/\n',
  'project/main.py': 'print(1)\n',
  'src/main.py': 'print(2)\n',
  'app/main.py': 'print(3)\n',
};

const llms = readFileSync(join(workspaceRoot, 'llms.txt'), 'utf8');
const listed = [...llms.matchAll(/\]\((\S+\.md)\)/g)].map(([, name = '']) => name);
const isGuide = (name: string): boolean => name.startsWith('docs/guides/');
// What the pages after the guides leave on the disk would make the backup large.
const ordered = [...listed, 'packages/envd/README.md'].toSorted(
  (a, b) => Number(isGuide(b)) - Number(isGuide(a)),
);
/** The pages with their code blocks, and the programs of these, in the order in which they run. */
export const pages = ordered.flatMap((name) => {
  if (name.endsWith('.api.md')) return []; // Declarations alone.
  const blocks = readCodeBlocks(name).filter(({ language }) => elsewhere[name]?.[language] === undefined);
  const programs = toPrograms(blocks).map((part) => ({
    ...part,
    file: `${name.replaceAll('/', '-').replace(/\.md$/, '')}.${part.language}`,
  }));
  return [{ name, blocks, programs }];
});

/** A reader of these pages, with what they assume that it has. */
export function createPageReader(server: StackAddress): Reader {
  const reader = createReader(server);
  for (const [file, text] of Object.entries(files)) reader.write(file, text);
  const types = join(workspaceRoot, 'packages/testkit/node_modules/@types/ws');
  cpSync(types, join(reader.path, 'node_modules/@types/ws'), { recursive: true, dereference: true });
  return reader;
}
