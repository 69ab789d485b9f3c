import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** An agent as the host sees it. */
export interface AgentProcess {
  readonly pid: number;
  /** The largest resident size so far. */
  peakBytes(): number;
  /** The anonymous memory of the agent now: without the pages of its program, which all sandboxes share. */
  ownBytes(): number;
  /** The number of its connections and of the sockets that it listens on. */
  countSockets(): number;
}

export const createAgentProcess = (pid: number): AgentProcess => {
  const read = (field: string): number => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
  };
  return {
    pid,
    peakBytes: () => read('VmHWM'),
    ownBytes: () => read('RssAnon'),
    countSockets: () =>
      readdirSync(`/proc/${pid}/fd`).filter((name) => isSocket(`/proc/${pid}/fd/${name}`)).length,
  };
};

/** Finds the agent by its cgroup: the pid that the sandbox's folder records is that of its first process, not of the agent. */
export const findAgentProcess = (sandboxId: string): AgentProcess => {
  const pid = readdirSync('/proc').find(
    (name) =>
      /^\d+$/.test(name) &&
      readOrEmpty(`/proc/${name}/cgroup`).includes(sandboxId) &&
      readOrEmpty(`/proc/${name}/cmdline`).startsWith('/.envd/node'),
  );
  if (pid === undefined) throw new Error(`no agent of ${sandboxId} was found`);
  return createAgentProcess(Number(pid));
};

const readOrEmpty = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process has just ended.
  }
};

const isSocket = (path: string): boolean => {
  try {
    return readlinkSync(path).startsWith('socket:');
  } catch {
    return false; // Closed since the folder was read.
  }
};
