import { readdirSync, readFileSync } from 'node:fs';

/** Processes whose cgroup is named after the sandbox, by their host pids. */
export function pidsOf(sandboxId: string): string[] {
  const pids = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && readOrEmpty(`/proc/${name}/cgroup`).includes(sandboxId),
  );
  if (pids.length === 0) throw new Error(`no process of sandbox ${sandboxId} found`);
  return pids;
}

/** The agent among them. */
export function agentPidOf(sandboxId: string): string {
  const pid = pidsOf(sandboxId).find((each) =>
    readOrEmpty(`/proc/${each}/cmdline`).startsWith('/.envd/node\0'),
  );
  if (pid === undefined) throw new Error(`no agent of sandbox ${sandboxId} found`);
  return pid;
}

/** Proportional set size: shared pages are divided among their users. 0 when the process has ended. */
export function pssBytesOf(pid: string | number): number {
  const kilobytes = /^Pss:\s+(\d+) kB/m.exec(readOrEmpty(`/proc/${pid}/smaps_rollup`))?.[1] ?? '0';
  return Number(kilobytes) * 1024;
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process has just ended.
  }
}
