import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { imagesDir } from '../stack/images-dir.ts';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { createPageReader, pages } from './page-programs.ts';
import type { Reader } from './reader.ts';
import { runPageProgram, toServerOptions, toSource } from './run-page.ts';
import { createServiceManager, type ServiceManager } from './service-manager.ts';

/** What the pages call the data folder, which here has to be another. */
const DATA = '/var/lib/skerry';
const folder = mkdtempSync(join(tmpdir(), 'skerry-guides-'));
const data = join(folder, 'data');
const inFolder = (text: string): string => text.replaceAll(DATA, data);

/** The words of `ExecStart` in the unit of the page on production, with the program of this checkout. */
function readCommand(): string[] {
  const blocks = pages.flatMap((page) => page.blocks);
  const units = blocks.filter(({ language }) => language === 'ini');
  const [, line = ''] = /^ExecStart=(.*)$/m.exec(units[0]?.text ?? '') ?? [];
  const [file, ...words] = line.split(' ');
  expect([units.length, file]).toEqual([1, '/usr/local/bin/skerry']);
  const added = blocks.flatMap((block) => toServerOptions(block) ?? []);
  return [process.execPath, skerryProgram, ...[...words, ...added].map(inFolder), '--images', imagesDir];
}

let service: ServiceManager;
let reader: Reader;
// The server that the page on production describes, with what other pages add to `skerry up`.
beforeAll(() => {
  service = createServiceManager({ folder, command: readCommand() });
  reader = createPageReader(service.start());
  symlinkSync(service.program, join(reader.path, 'bin/systemctl'));
});
afterAll(async () => {
  service.stop();
  await runProgram(skerryProgram, ['down', '--data', data]);
  reader[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

describe.each(pages.filter(({ programs }) => programs.length > 0))('the page $name', ({ programs }) => {
  it.each(programs.map((part) => [part.language, part] as const))(
    'prints with its %s blocks what it shows',
    async (_language, part) => {
      reader.write(part.file, inFolder(toSource(part)));
      const printed = await runPageProgram(reader, part, part.file);
      expect(printed).toHaveLength(part.blocks.length);
      for (const [at, expected] of part.expected.entries()) {
        if (expected !== undefined) expect(printed[at]).toBe(inFolder(expected));
      }
    },
  );
});
