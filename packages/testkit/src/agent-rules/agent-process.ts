import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { StackClient } from '../stack/stack-client.ts';

/** The agent of a sandbox as the host sees it. */
export interface AgentProcess {
  /** The most memory that it has had. */
  peakBytes(): number;
  /** Its connections, and the sockets it listens on. */
  countSockets(): number;
}

const isSocket = (path: string): boolean => {
  try {
    return readlinkSync(path).startsWith('socket:');
  } catch {
    return false; // Closed since the folder was read.
  }
};

export const findAgentProcess = (stack: Pick<StackClient, 'dataDir'>, sandboxId: string): AgentProcess => {
  const pid = readFileSync(join(stack.dataDir, 'sandboxes', sandboxId, 'pid'), 'utf8').trim();
  return {
    peakBytes: () =>
      Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024,
    countSockets: () =>
      readdirSync(`/proc/${pid}/fd`).filter((name) => isSocket(`/proc/${pid}/fd/${name}`)).length,
  };
};
