import type { ServerResponse } from 'node:http';
import type { HostUsage } from './host-usage.ts';
import type { SandboxLog } from './sandbox-log.ts';

/** Lines that are written together travel together: the host is woken once. */
const BATCH_MS = 100;

export interface LogStreamOptions {
  log: SandboxLog;
  usage: HostUsage;
  /** The last line that the host has, as `ORIGIN:SEQ`; one of another numbering means that it has none. */
  after: string | null;
  /** Goes on with what comes, until the host hangs up or opens another. */
  follow: boolean;
}

const parseAfter = (after: string | null, { origin }: SandboxLog): number => {
  const mark = after?.lastIndexOf(':') ?? -1;
  if (after === null || after.slice(0, mark) !== origin) return 0;
  const seq = Number(after.slice(mark + 1));
  return Number.isSafeInteger(seq) && seq > 0 ? seq : 0;
};

/**
 * Answers with the log as lines of JSON: first `{"origin"}`, then what the host does not have yet. A follower also gets
 * `{"ask":"usage"}`, to which it replies with `POST /usage`. While the host does not read, nothing is buffered for it.
 */
export const streamLog = (res: ServerResponse, options: LogStreamOptions): void => {
  const { log, usage, follow } = options;
  const { origin } = log;
  let seq = parseAfter(options.after, log);
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
    // After a full buffer the next lines go when that is empty.
    if (!res.writableNeedDrain) timer ??= setTimeout(send, BATCH_MS);
  };

  res.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
  res.write(`${JSON.stringify({ origin })}\n`);
  send();
  if (!follow) {
    res.end();
    return;
  }
  const forgetWrites = log.onWrite(sendSoon);
  const forgetQuestions = usage.onAsk(() => res.write('{"ask":"usage"}\n'));
  res.on('drain', send);
  res.once('close', () => {
    clearTimeout(timer);
    forgetWrites();
    forgetQuestions();
  });
};
