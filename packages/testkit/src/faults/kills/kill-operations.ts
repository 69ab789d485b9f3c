import type { IsolationLevel } from '@skerry/contract/isolation';
import { Sandbox, SandboxError, snapshots } from '@skerry/sdk';
import { fetchByHost } from '../../stack/fetch-by-host.ts';
import type { Stack } from '../../stack/stack.ts';
import { type KnownSandbox, LIFE_MS } from '../lifecycle/operations.ts';

export type SandboxState = 'running' | 'paused with memory' | 'paused files only';

/** What is done to a sandbox in a state. What it makes of it is removed by it, too. */
export interface KillOperation {
  from: SandboxState;
  /** Default: running. */
  to?: SandboxState;
  /** Whether its processes end by it. */
  endsProcesses?: boolean;
  /** Whether a program works inside of its processes, which may end with it: see `Criu`. */
  worksInside?: boolean;
  /** Whether it is done once more after a kill, although the sandbox has to be paused for it. */
  isRepeated?: boolean;
  act: (stack: Stack, sandbox: KnownSandbox) => Promise<void>;
  /** After a kill: removes what there is of it, and resolves with what is not as it should be. */
  settle?: (stack: Stack, dataDir: string) => Promise<string[]>;
}

export const createKillOperations = (level: IsolationLevel): Record<string, KillOperation> => ({
  create: {
    from: 'running',
    act: async ({ connection }) => {
      await (await Sandbox.create({ ...connection, timeoutMs: LIFE_MS })).kill();
    },
  },
  'pause with memory': {
    from: 'running',
    worksInside: level === 'container',
    to: 'paused with memory',
    act: ({ connection }, { id }) => Sandbox.pause(id, connection),
  },
  'pause files only': {
    from: 'running',
    to: 'paused files only',
    endsProcesses: true,
    act: ({ connection }, { id }) => Sandbox.pause(id, { ...connection, memory: false }),
  },
  'resume with memory': {
    from: 'paused with memory',
    act: async ({ connection }, { id }) => {
      await Sandbox.connect(id, { ...connection, timeoutMs: LIFE_MS });
    },
  },
  wake: {
    from: 'paused with memory',
    isRepeated: true,
    act: async ({ address }, { id }) => {
      const host = `8000-${id}.${address.domain}`;
      const { status, text } = await fetchByHost(address.apiUrl, { host }).catch((cause: unknown) => {
        throw new SandboxError('connection_failed', 'the request was cut off', { cause });
      });
      // No program listens there in a sandbox that runs.
      if (status !== 502 || !text.includes('port is not open')) throw new SandboxError('internal', text);
    },
  },
  'resume files only': {
    from: 'paused files only',
    endsProcesses: true,
    act: async ({ connection }, { id }) => {
      await Sandbox.connect(id, { ...connection, timeoutMs: LIFE_MS });
    },
  },
  'snapshot with memory': {
    from: 'running',
    worksInside: level === 'container',
    act: async ({ connection }, { id }) => {
      const { snapshotId } = await Sandbox.createSnapshot(id, connection);
      await snapshots.delete(snapshotId, connection);
    },
  },
  'snapshot files only': {
    from: 'running',
    act: async ({ connection }, { id }) => {
      const { snapshotId } = await Sandbox.createSnapshot(id, { ...connection, memory: false });
      await snapshots.delete(snapshotId, connection);
    },
  },
  fork: {
    from: 'running',
    worksInside: level === 'container',
    act: async ({ connection }, { id }) => {
      for (const made of await Sandbox.fork(id, { ...connection, timeoutMs: LIFE_MS })) {
        if (made instanceof SandboxError) throw made;
        await made.kill();
      }
    },
  },
});
