// Runs in a project of its own, beside a program that makes calls.
import { appendFileSync } from 'node:fs';

const show = (value) => (value instanceof RegExp ? String(value) : JSON.stringify(value));

/** Of an assertion without words of its own, what was compared, on one line. */
const toText = (thrown) => {
  if (thrown?.generatedMessage === true)
    return `returns ${show(thrown.actual)}, not ${show(thrown.expected)}`;
  return thrown instanceof Error ? thrown.message : String(thrown);
};

/**
 * Makes the calls in turn, and appends a line of JSON for each to the file that the first argument names: the call, and the message
 * of its error, if it threw one. A call that fails does not prevent the next.
 */
export async function makeCalls(calls) {
  const [results] = process.argv.slice(2);
  for (const [call, make] of Object.entries(calls)) {
    let error;
    try {
      await make();
    } catch (thrown) {
      error = toText(thrown);
    }
    appendFileSync(results, `${JSON.stringify({ call, error })}\n`);
  }
  // Some packages keep timers and connections.
  process.exit(0);
}
