import { findMissing } from '../known-skips.ts';
import type { Part } from './run-projects.ts';

/**
 * Runs the parts in turn, then prints a line for each failure and each skipped test, the time of each part, and the counts alone on a
 * line. Resolves with whether nothing failed; a test that is skipped without a known reason has failed.
 */
export async function runParts(parts: readonly Part[]): Promise<boolean> {
  const times: string[] = [];
  const failures: string[] = [];
  const skipped: string[] = [];
  let passed = 0;
  for (const { name, run } of parts) {
    const started = performance.now();
    const outcome = await run();
    times.push(`${name} ${Math.round((performance.now() - started) / 1000)} s`);
    passed += outcome.passed;
    failures.push(...outcome.failures);
    skipped.push(...outcome.skipped);
  }
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
