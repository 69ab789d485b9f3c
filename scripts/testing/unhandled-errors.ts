// A reporter of vitest. Its json report lacks the errors that no test caught, which fail the run.
import { writeFileSync } from 'node:fs';
import type { Reporter } from 'vitest/node';

/** Names the file that the messages are written to, as a JSON array. */
export const UNHANDLED_ERRORS_FILE = 'SKERRY_UNHANDLED_ERRORS_FILE';

export default class UnhandledErrors implements Reporter {
  onTestRunEnd(_modules: unknown, errors: readonly { message: string }[]): void {
    const file = process.env[UNHANDLED_ERRORS_FILE];
    if (file !== undefined) writeFileSync(file, JSON.stringify(errors.map(({ message }) => message)));
  }
}
