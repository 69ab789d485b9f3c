import { appendFileSync } from 'node:fs';
import { findMissing } from './known-skips.ts';
import type { FailedFile, Outcome, TestOutcome } from './test-outcome.ts';

/** One part of a run of tests. */
export interface Part {
  name: string;
  run: () => Promise<Outcome | TestOutcome>;
  /** Runs a failed test file of this part alone. */
  runAgain?: (path: string) => Promise<TestOutcome>;
}

/** When more files fail, they have one cause, and running each again would take hours. */
const MAX_FILES_AGAIN = 20;

/**
 * Runs the groups in turn, and the parts of a group at once; what they print is mixed. At the end, each failed test
 * file runs once more, alone: if it passes then, its first failure is only printed, in a line that begins with
 * `FLAKY`. Then prints a line for each failure and each skipped test, the time of each part, and the counts alone on
 * a line. With `countsFile`, the counts are appended to that file instead, as three numbers. Resolves with whether
 * nothing failed; a test that is skipped without a known reason has failed.
 */
export async function runParts(
  groups: readonly (readonly Part[])[],
  { countsFile }: { countsFile?: string | undefined } = {},
): Promise<boolean> {
  const times: string[] = [];
  const outcomes: Outcome[] = [];
  const failed: { part: Part; file: FailedFile }[] = [];
  const runPart = async (part: Part): Promise<void> => {
    const started = performance.now();
    const outcome = await part.run();
    times.push(`${part.name} ${Math.round((performance.now() - started) / 1000)} s`);
    outcomes.push(outcome);
    if ('failedFiles' in outcome) failed.push(...outcome.failedFiles.map((file) => ({ part, file })));
  };
  for (const parts of groups) await Promise.all(parts.map(runPart));

  const flaky: string[] = [];
  for (const { part, file } of failed) {
    const again = failed.length > MAX_FILES_AGAIN ? undefined : await runOnceMore(part, file);
    if (again !== undefined) flaky.push(`FLAKY ${file.path}: ${file.failures[0]}`);
    outcomes.push(again ?? { ...file, failures: file.failures.map((failure) => `${file.path}: ${failure}`) });
  }

  const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
  const skipped = outcomes.flatMap((outcome) => outcome.skipped);
  const failures = outcomes.flatMap((outcome) => outcome.failures);
  console.log();
  failures.push(...explainSkipped(skipped));
  for (const line of [...flaky, ...failures.map((failure) => `failed: ${failure}`)]) console.log(line);
  console.log(times.join(', '));
  if (countsFile === undefined)
    console.log(`${passed} passed, ${failures.length} failed, ${skipped.length} skipped`);
  else appendFileSync(countsFile, `${passed} ${failures.length} ${skipped.length}\n`);
  return failures.length === 0;
}

/** Resolves with the outcome when the file passes now, else with undefined. */
async function runOnceMore({ runAgain }: Part, { path }: FailedFile): Promise<TestOutcome | undefined> {
  console.log(`\nonce more, alone: ${path}`);
  const outcome = await runAgain?.(path);
  const isPassed = outcome?.failedFiles.length === 0 && outcome.failures.length === 0 && outcome.passed > 0;
  return isPassed ? outcome : undefined;
}

/** Prints what each skipped test needs, and returns a failure for each of which that is not known. */
const explainSkipped = (skipped: readonly string[]): string[] =>
  skipped.flatMap((line) => {
    const missing = findMissing(line);
    if (missing === undefined)
      return [`${line}: skipped, and scripts/testing/known-skips.ts knows no reason`];
    console.log(`skipped: ${line}: missing here: ${missing}`);
    return [];
  });
