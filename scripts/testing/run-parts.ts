import { findMissing } from '../known-skips.ts';
import type { Outcome } from '../test-outcome.ts';

/** One part of a run of tests. */
export interface Part {
  name: string;
  run: () => Outcome | Promise<Outcome>;
}

/**
 * Runs the groups in turn, and the parts of a group at once; what they print is mixed. Then prints a line for each failure and each
 * skipped test, the time of each part, and the counts alone on a line. Resolves with whether nothing failed; a test that is skipped
 * without a known reason has failed.
 */
export async function runParts(groups: readonly (readonly Part[])[]): Promise<boolean> {
  const times: string[] = [];
  const failures: string[] = [];
  const skipped: string[] = [];
  let passed = 0;
  const runPart = async ({ name, run }: Part): Promise<void> => {
    const started = performance.now();
    const outcome = await run();
    times.push(`${name} ${Math.round((performance.now() - started) / 1000)} s`);
    passed += outcome.passed;
    failures.push(...outcome.failures);
    skipped.push(...outcome.skipped);
  };
  for (const parts of groups) await Promise.all(parts.map(runPart));
  console.log();
  for (const line of skipped) {
    const missing = findMissing(line);
    if (missing === undefined) failures.push(`${line}: skipped, and scripts/known-skips.ts knows no reason`);
    else console.log(`skipped: ${line}: missing here: ${missing}`);
  }
  for (const line of failures) console.log(`failed: ${line}`);
  console.log(times.join(', '));
  console.log(`${passed} passed, ${failures.length} failed, ${skipped.length} skipped`);
  return failures.length === 0;
}
