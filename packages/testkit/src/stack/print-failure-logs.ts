// A setup file of vitest: prints what the servers of a test file logged since the begin of a test that failed. A client
// sees only that the server failed; the reason is in the server's log.
import { afterEach } from 'vitest';
import { knownLogs } from './known-logs.ts';

const MAX_LINES = 100;

/** Whether a line of the log was written then or later. Lines without a time belong to the line above them. */
const isSince = (line: string, startedMs: number): boolean => {
  const timestamp = /^\{"timestamp":"([^"]+)"/.exec(line)?.[1];
  return timestamp !== undefined && Date.parse(timestamp) >= startedMs;
};

afterEach(async ({ task }) => {
  const startedMs = task.result?.startTime;
  if (task.result?.state !== 'fail' || startedMs === undefined) return;
  for (const readLog of knownLogs) {
    // A shared server may be gone; the failure of the test is what matters then.
    const log = await readLog().catch(() => '');
    const lines = log.split('\n');
    const first = lines.findIndex((line) => isSince(line, startedMs));
    if (first === -1) continue;
    console.error(
      `logged by the server since the begin of "${task.name}":\n${lines.slice(first).slice(-MAX_LINES).join('\n')}`,
    );
  }
});
