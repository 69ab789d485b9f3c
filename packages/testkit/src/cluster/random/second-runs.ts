import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Watches for sandboxes of which two runs live at the same time, on one node or on two. */
export interface SecondRuns {
  /** How often all processes of this host were looked at. */
  readonly looks: number;
  readonly found: ReadonlySet<string>;
  stop(): Promise<void>;
}

const EVERY_MS = 500;

/** Each run has a namespace of processes, and its processes are in a cgroup whose path contains the id of the sandbox. */
export const watchSecondRuns = (ids: ReadonlySet<string>): SecondRuns => {
  const found = new Set<string>();
  const stopping = new AbortController();
  let looks = 0;
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      for (const [id, pids] of findRuns(ids)) {
        // The first may have ended before the second began, but not if both are still there.
        const living = pids.filter((pid) => readNamespace(pid) !== undefined);
        if (living.length > 1) found.add(`${id} runs twice: ${living.map(describe).join(' and ')}`);
      }
      looks += 1;
      await delay(EVERY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const watching = watch();
  return {
    get looks() {
      return looks;
    },
    found,
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
};

/** A process of each run, by the id of its sandbox. */
function findRuns(ids: ReadonlySet<string>): Map<string, string[]> {
  const own = readNamespace('self');
  const runs = new Map<string, Map<string, string>>();
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const id = readText(`/proc/${pid}/cgroup`)
      .split(/[/\n]/)
      .find((part) => ids.has(part));
    const namespace = id === undefined ? undefined : readNamespace(pid);
    if (id === undefined || namespace === undefined || namespace === own) continue;
    runs.set(id, (runs.get(id) ?? new Map<string, string>()).set(namespace, pid));
  }
  return new Map(Array.from(runs, ([id, pids]) => [id, [...pids.values()]]));
}

const describe = (pid: string): string =>
  `process ${pid} in ${readNamespace(pid)}, ${readText(`/proc/${pid}/cgroup`).trim()}`;

function readNamespace(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined; // The process has ended.
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process has ended.
  }
}
