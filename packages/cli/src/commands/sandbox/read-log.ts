import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, type LogEntry, type LogLevel, Sandbox } from '@skerry/sdk';
import { HELPER_TAG } from './attached/helper-tag.ts';

export interface LogFilter {
  /** Goes on until the sandbox has ended. */
  follow?: boolean;
  level?: LogLevel;
  search?: string;
}

const PAGE_ENTRIES = 1000;
const FOLLOW_MS = 1_000;

/** The log of a sandbox, the oldest entry first. */
export async function* readLog(
  id: string,
  { follow = false, level, search }: LogFilter,
  connection: ConnectionOptions,
): AsyncGenerator<LogEntry> {
  let from = new Date(0);
  // A page begins with the millisecond of the last entry of the previous one.
  let seen = new Set<string>();
  for (;;) {
    const page = await Sandbox.getLogs(id, { ...connection, from, direction: 'forward', level, search });
    const fresh = page.filter((entry) => !seen.has(JSON.stringify(entry)));
    yield* fresh;
    if (fresh.some(isEnd)) return;
    const last = page.at(-1)?.timestamp ?? from;
    const newest = page.filter(({ timestamp }) => +timestamp === +last);
    seen = new Set(newest.map((entry) => JSON.stringify(entry)));
    from = last;
    // A full page with nothing new is one long millisecond, the last.
    if (page.length >= PAGE_ENTRIES && fresh.length > 0) continue;
    if (!follow) return;
    await delay(FOLLOW_MS);
  }
}

/** Whether a program in the sandbox has printed it. The rest of a log is events. */
export const isOutput = ({ logger }: LogEntry): boolean => logger === 'stdout' || logger === 'stderr';

/** Whether it is of a command that skerry runs in a sandbox for its own purpose. */
export const isOfHelper = ({ fields }: LogEntry): boolean => fields.tag === HELPER_TAG;

function isEnd({ logger, fields }: LogEntry): boolean {
  return logger === 'platform' && fields.cause !== undefined;
}
