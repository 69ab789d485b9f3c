import type { ServerResponse } from 'node:http';
import type { LogRequest, LogStreamLine } from '@skerry/contract/agent-control';
import type { HostUsage } from '../host-usage.ts';
import type { SandboxLog } from '../sandbox-log.ts';

/** Lines that are written in one turn are sent together: the host wakes up once. */
const BATCH_MS = 100;

export interface LogStreamOptions extends LogRequest {
  log: SandboxLog;
  usage: HostUsage;
}

const toLine = (line: LogStreamLine): string => `${JSON.stringify(line)}\n`;

/**
 * Answers with the log as lines of JSON: first `{"origin"}`, then what the host does not have yet. A follower also gets
 * `{"ask":"usage"}`, to which it replies with `POST /usage`. While the host does not read, nothing is buffered for it.
 */
export const streamLog = (res: ServerResponse, options: LogStreamOptions): void => {
  const { log, usage, after, follow } = options;
  const { origin } = log;
  let seq = after?.origin === origin ? after.seq : 0;
  let timer: NodeJS.Timeout | undefined;

  const send = (): void => {
    timer = undefined;
    if (log.origin !== origin) {
      res.end();
      return;
    }
    const lines = log.after(seq);
    const last = lines.at(-1);
    if (last === undefined) return;
    seq = last.seq;
    res.write(`${lines.map(({ text }) => text).join('\n')}\n`);
  };
  const sendSoon = (): void => {
    // After backpressure the next lines are sent when the buffer has drained.
    if (!res.writableNeedDrain) timer ??= setTimeout(send, BATCH_MS);
  };

  res.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
  res.write(toLine({ origin }));
  send();
  if (!follow) {
    res.end();
    return;
  }
  const forgetWrites = log.onWrite(sendSoon);
  const forgetQuestions = usage.onAsk(() => res.write(toLine({ ask: 'usage' })));
  res.on('drain', send);
  res.once('close', () => {
    clearTimeout(timer);
    forgetWrites();
    forgetQuestions();
  });
};
