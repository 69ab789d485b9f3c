import { type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { controlPaths, type LogRequest, toLogQuery } from '@skerry/contract/agent-control';
import type { Instance } from '@skerry/runtime';
import { type Clock, passTime } from '../clock.ts';
import type { ByteBudget } from './byte-budget.ts';

export interface ReadLogOptions extends LogRequest {
  instance: Pick<Instance, 'control'>;
  onLine: (text: string) => void;
  budget: ByteBudget;
  clock: Clock;
  signal: AbortSignal;
}

/** Longer than every line of the agent. */
const MAX_LINE_BYTES = 16 * 1024;
const ANSWER_MS = 10_000;

/** Calls back for each whole line; omits one longer than `MAX_LINE_BYTES`. Throws when more than that arrives without an end of line. */
const createLineSplitter = (onLine: (text: string) => void) => {
  let rest = '';
  return (text: string): void => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (Buffer.byteLength(rest) > MAX_LINE_BYTES) throw new Error('a line of the log is too long');
    for (const line of lines) if (Buffer.byteLength(line) <= MAX_LINE_BYTES) onLine(line);
  };
};

const ask = (channel: Duplex, path: string, signal: AbortSignal) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    request({ path, headers: { host: 'localhost' }, signal, createConnection: () => channel }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else reject(new Error(`the agent answered ${response.statusCode} to ${controlPaths.logs}`));
    })
      .on('error', reject)
      .end();
  });

/**
 * Reads the log of an agent over its private channel, never faster than the budget allows: unread entries stay in the
 * sandbox. Resolves at its end; rejects when the channel fails, the agent sends another status, or the signal aborts.
 */
export const readLog = async (options: ReadLogOptions): Promise<void> => {
  const { instance, after, follow, onLine, budget, clock, signal } = options;
  const channel = await instance.control({ signal });
  const late = clock.after(ANSWER_MS, () => channel.destroy(new Error('the agent does not respond')));
  try {
    const path = `${controlPaths.logs}?${toLogQuery({ after, follow })}`;
    const response = await ask(channel, path, signal);
    late();
    const split = createLineSplitter(onLine);
    for await (const text of response.setEncoding('utf8') as AsyncIterable<string>) {
      budget.take(Buffer.byteLength(text));
      split(text);
      const waitMs = budget.waitMs();
      if (waitMs > 0) await passTime(clock, waitMs, signal);
    }
  } finally {
    late();
    channel.destroy();
  }
};
