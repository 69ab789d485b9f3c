import { type Outcome, toFirstLine } from '../testing/test-outcome.ts';

/** Runs a step and prints a line for it. Resolves with its result, undefined when it failed. */
export type Step = <T>(title: string, work: () => T | Promise<T>) => Promise<T | undefined>;

/**
 * Runs the steps of a part, which names them. Each counts as passed, as failed when it throws, or as skipped when its result has a
 * reason in `skipped`. What `work` itself throws is thrown.
 */
export async function runSteps(part: string, work: (step: Step) => Promise<void>): Promise<Outcome> {
  const outcome: Outcome = { passed: 0, failures: [], skipped: [] };
  await work(async (title, run) => {
    const started = performance.now();
    const say = (word: string, rest = '') =>
      console.log(`${word} ${title} (${((performance.now() - started) / 1000).toFixed(1)} s)${rest}`);
    try {
      const result = await run();
      const skipped = (result as { skipped?: string } | undefined)?.skipped;
      if (skipped === undefined) {
        outcome.passed += 1;
        say('ok  ');
      } else {
        outcome.skipped.push(`${part} > ${title}`);
        say('skip', `: ${skipped}`);
      }
      return result;
    } catch (error) {
      const { message } = error as Error;
      outcome.failures.push(`${part} > ${title}: ${toFirstLine(message)}`);
      say('FAIL', `\n${message}`);
      return undefined;
    }
  });
  return outcome;
}
