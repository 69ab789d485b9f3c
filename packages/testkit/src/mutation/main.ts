// Plants one small defect after another in the files of each group (see groups.ts), in a copy of the checkout, and runs the group's
// tests with each. Prints the defects that no test notices, and for each file the share that was noticed. Exits with 1 when that is
// too small for one. By hand only: pnpm test:mutation [GROUP …]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Stryker } from '@stryker-mutator/core';
import { groups } from './groups.ts';

/** The share of its defects that the tests of a file must notice, in percent. */
const ENOUGH = 90;

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !groups.some((group) => group.name === name));
if (unknown.length > 0) throw new Error(`there is no group ${unknown.join(', ')}`);
const chosen = groups.filter(({ name }) => wanted.length === 0 || wanted.includes(name));

process.chdir(join(import.meta.dirname, '../../../..'));
// A run that is ended by force does not remove its folders.
const folder = mkdtempSync(join(tmpdir(), 'skerry-mutation-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
process.env.SKERRY_MUTATION_TESTS = JSON.stringify(chosen.flatMap(({ tests }) => tests));
process.env.TMPDIR = folder;

const results = await new Stryker({
  mutate: chosen.flatMap(({ mutate }) => mutate),
  ignorePatterns: ['.toolchain', '.skerry', '**/dist', 'bench', 'site'],
  plugins: [fileURLToPath(import.meta.resolve('@stryker-mutator/vitest-runner'))],
  testRunner: 'vitest',
  vitest: { configFile: join(import.meta.dirname, 'vitest.config.ts'), related: false },
  // Stryker reads the settings of TypeScript through a part of its former compiler, which the present one does not have.
  tsconfigFile: 'none',
  tempDirName: folder,
  reporters: ['progress-append-only', 'clear-text'],
  clearTextReporter: { reportTests: false, logTests: false },
}).runMutationTest();

const scores = Map.groupBy(
  results.filter(({ status }) => status !== 'Ignored' && status !== 'CompileError'),
  ({ fileName }) => fileName,
);
for (const [file, mutants] of scores) {
  const noticed = mutants.filter(({ status }) => status !== 'Survived' && status !== 'NoCoverage').length;
  if (100 * noticed >= ENOUGH * mutants.length) continue;
  console.log(`${file}: the tests notice ${noticed} of ${mutants.length} defects, less than ${ENOUGH} %`);
  process.exitCode = 1;
}
