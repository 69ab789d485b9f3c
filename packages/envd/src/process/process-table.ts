import { ApiError, notFound, unimplemented } from '@skerry/contract/error';
import type { ProcessOutput } from './output/process-output.ts';
import type { RunningProcess } from './running-process.ts';

export interface ProcessConfig {
  cmd: string;
  args: string[];
  envs: Record<string, string>;
  cwd?: string | undefined;
}

/** A process that was started here, live or ended a moment ago. */
export interface ProcessEntry {
  readonly pid: number;
  readonly tag: string | undefined;
  readonly output: ProcessOutput;
  /** Undefined once the process has ended, like `running`. */
  config: ProcessConfig | undefined;
  running: RunningProcess | undefined;
}

export type Selector =
  | { case: 'pid'; value: number }
  | { case: 'tag'; value: string }
  | { case: undefined; value?: undefined };

/** How long the output and the end of an ended process stay available. */
export const RETAIN_MS = 30_000;
/** More than this many ended processes at once are forgotten early, the oldest first. */
const MAX_ENDED = 4096;

export interface ProcessTable {
  add(entry: ProcessEntry): void;
  /** Keeps the output of the process and its end for a while and forgets the rest. */
  markEnded(entry: ProcessEntry): void;
  /** Live processes, in the order of their start. */
  live(): ProcessEntry[];
  /** Finds a live or recently ended process; of several with one tag, the most recently started. Throws `not_found`. */
  find(selector: Selector | undefined): ProcessEntry;
  /** Like `find`, among live processes only. */
  findRunning(selector: Selector | undefined): RunningProcess;
}

/** Indexes processes by pid and by tag. A live process hides an ended one whose pid the kernel has reused. */
export const createProcessTable = ({ retainMs = RETAIN_MS } = {}): ProcessTable => {
  const byPid = new Map<number, ProcessEntry>();
  const byTag = new Map<string, ProcessEntry[]>();
  const ended = new Set<ProcessEntry>();

  const forget = (entry: ProcessEntry): void => {
    if (!ended.delete(entry)) return;
    entry.output.forget();
    if (byPid.get(entry.pid) === entry) byPid.delete(entry.pid);
    if (entry.tag === undefined) return;
    const rest = (byTag.get(entry.tag) ?? []).filter((other) => other !== entry);
    if (rest.length === 0) byTag.delete(entry.tag);
    else byTag.set(entry.tag, rest);
  };

  const find = (selector: Selector | undefined): ProcessEntry => {
    switch (selector?.case) {
      case 'pid': {
        const entry = byPid.get(selector.value);
        if (entry === undefined) throw notFound(`process with pid ${selector.value} not found`);
        return entry;
      }
      case 'tag': {
        const entry = byTag.get(selector.value)?.at(-1);
        if (entry === undefined) throw notFound(`process with tag "${selector.value}" not found`);
        return entry;
      }
      default:
        throw unimplemented('process selector is empty; set pid or tag');
    }
  };

  return {
    add(entry) {
      byPid.set(entry.pid, entry);
      if (entry.tag !== undefined) byTag.set(entry.tag, [...(byTag.get(entry.tag) ?? []), entry]);
    },
    markEnded(entry) {
      // Entries of ended processes should be small; arguments may be large.
      entry.config = undefined;
      entry.running = undefined;
      ended.add(entry);
      const [oldest] = ended;
      if (ended.size > MAX_ENDED && oldest !== undefined) forget(oldest);
      setTimeout(forget, retainMs, entry).unref();
    },
    live: () => [...byPid.values()].filter(({ running }) => running !== undefined),
    find,
    findRunning(selector) {
      const entry = find(selector);
      if (entry.running === undefined) {
        throw new ApiError('not_found', `process with pid ${entry.pid} has ended`);
      }
      return entry.running;
    },
  };
};
