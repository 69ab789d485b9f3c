// Plants one small defect after another in the files of each group (see groups.ts), in memory and not on disk, and runs the group's
// tests with each. Prints the defects that no test notices, and for each file the share that was noticed. Exits with 1 when that is
// too small. By hand only: pnpm test:mutation [GROUP …]
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { equivalents, isEquivalent, listStale } from './equivalent.ts';
import { groups } from './groups.ts';
import { listMutants } from './mutants.ts';
import { openTests } from './run-tests.ts';

/** The share of its defects that the tests of a file must notice, in percent. */
const ENOUGH = 90;

const root = join(import.meta.dirname, '../../../..');
const list = (patterns: string[]): string[] =>
  patterns.flatMap((pattern) => globSync(pattern, { cwd: root })).sort();

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !groups.some((group) => group.name === name));
if (unknown.length > 0) throw new Error(`there is no group ${unknown.join(', ')}`);

const mutantsOf = (file: string) => listMutants(readFileSync(join(root, file), 'utf8'));
const files = groups.flatMap(({ mutate }) => list(mutate));
const stale = [
  ...equivalents.filter(({ file }) => !files.includes(file)),
  ...files.flatMap((file) => listStale(file, mutantsOf(file))),
];
if (stale.length > 0)
  throw new Error(
    `equivalent.ts names defects that do not exist: ${stale.map(({ file, defect }) => `${file}: ${defect}`).join('; ')}`,
  );

// A run that is ended by force does not remove its folders.
const folders = mkdtempSync(join(tmpdir(), 'skerry-mutation-'));
process.env.TMPDIR = folders;
process.once('exit', () => rmSync(folders, { recursive: true, force: true }));

const toMinutes = (since: number): string => ((performance.now() - since) / 60_000).toFixed(1);

const table: string[] = [];
let isEnough = true;
for (const { name, mutate, tests, needsProcesses } of groups) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const groupStart = performance.now();
  const testFiles = list(tests);
  if (testFiles.length === 0) throw new Error(`group ${name} has no tests`);
  const runner = await openTests(root, {
    files: testFiles,
    pool: needsProcesses ? 'forks' : 'threads',
  });
  if (await runner.isNoticed()) throw new Error(`the tests of group ${name} fail without a defect`);
  for (const file of list(mutate)) {
    const start = performance.now();
    const mutants = mutantsOf(file).filter((mutant) => !isEquivalent(file, mutant));
    let noticed = 0;
    for (const { line, intact, defect, source } of mutants) {
      if (await runner.isNoticed({ path: join(root, file), source })) noticed += 1;
      else console.log(`${file}:${line}\n  - ${intact}\n  + ${defect || 'nothing'}`);
    }
    const share = mutants.length === 0 ? 100 : (100 * noticed) / mutants.length;
    if (share < ENOUGH) isEnough = false;
    table.push(`${share.toFixed(1)} % (${noticed} of ${mutants.length}) in ${toMinutes(start)} min: ${file}`);
  }
  // Otherwise a defect has left something behind, which later ones were noticed by.
  if (await runner.isNoticed()) throw new Error(`the tests of group ${name} fail after the last defect`);
  await runner.close();
  table.push(`group ${name}: ${toMinutes(groupStart)} min`);
}
console.log(table.join('\n'));
// Not by `process.exitCode`, which vitest sets for each test that fails.
process.exit(isEnough ? 0 : 1);
