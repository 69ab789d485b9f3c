// Each code block of docs/guides runs as it does for a reader, on one server: the one that the page on production describes.

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { imagesDir } from '../stack/images-dir.ts';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';
import { type CodeBlock, readCodeBlocks } from './code-blocks.ts';
import { createReader, type Reader } from './reader.ts';
import { runPageProgram, toPrograms, toSource } from './run-page.ts';
import { createServiceManager, type ServiceManager } from './service-manager.ts';

/** What the pages call the data folder, which here has to be another. */
const DATA = '/var/lib/skerry';
const folder = mkdtempSync(join(tmpdir(), 'skerry-guides-'));
const data = join(folder, 'data');

const inFolder = (block: CodeBlock): CodeBlock => ({ ...block, text: block.text.replaceAll(DATA, data) });
const pages = readdirSync(join(workspaceRoot, 'docs/guides')).map((name) => {
  const blocks = readCodeBlocks(`docs/guides/${name}`).map(inFolder);
  const programs = toPrograms(blocks).map((part) => ({ ...part, file: name.replace(/md$/, part.language) }));
  return { name, blocks, programs };
});

/** The words of `ExecStart` in the unit of the page on production, with the program of this checkout. */
function readCommand(): string[] {
  const units = pages.flatMap(({ blocks }) => blocks).filter(({ language }) => language === 'ini');
  const [, line = ''] = /^ExecStart=(.*)$/m.exec(units[0]?.text ?? '') ?? [];
  const [file, ...words] = line.split(' ');
  expect([units.length, file]).toEqual([1, '/usr/local/bin/skerry']);
  return [process.execPath, skerryProgram, ...words, '--images', imagesDir];
}

let service: ServiceManager;
let reader: Reader;
beforeAll(() => {
  service = createServiceManager({ folder, command: readCommand() });
  reader = createReader(service.start());
  symlinkSync(service.program, join(reader.path, 'bin/systemctl'));
  symlinkSync(join(workspaceRoot, 'packages/testkit/node_modules/ws'), join(reader.path, 'node_modules/ws'));
  const types = join(workspaceRoot, 'packages/testkit/node_modules/@types/ws');
  cpSync(types, join(reader.path, 'node_modules/@types/ws'), { recursive: true, dereference: true });
});
afterAll(async () => {
  service.stop();
  await runProgram(skerryProgram, ['down', '--data', data]);
  reader[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

it('has programs that compile strictly', () => {
  const programs = pages.flatMap((page) => page.programs).filter(({ language }) => language === 'ts');
  for (const part of programs) reader.write(part.file, toSource(part));
  reader.check(programs.map(({ file }) => file));
});

describe.each(pages)('the page $name', ({ programs }) => {
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

it('has a row for each code of the errors of the SDK on the page on troubleshooting', () => {
  const source = readFileSync(join(workspaceRoot, 'packages/sdk/src/errors.ts'), 'utf8');
  const [union = ''] = /export type SandboxErrorCode =[^;]*;/.exec(source) ?? [];
  const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code);
  const page = readFileSync(join(workspaceRoot, 'docs/guides/troubleshooting.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)`/gm)].map(([, code]) => code);
  expect(new Set(rows)).toEqual(new Set(codes));
  expect(rows).toHaveLength(codes.length);
});
