import { Sandbox, SandboxError } from '@skerry/sdk';
import type { Stack } from '../../stack.ts';
import type { KnownSandbox } from '../lifecycle/operations.ts';

export type PreviousState = 'running' | 'paused with memory' | 'paused files only';

/** What is done to a sandbox in a state, and made undone where it leads to something else. */
export interface KillOperation {
  from: PreviousState;
  /** Whether its processes end by it. */
  endsProcesses?: boolean;
  act: (stack: Stack, sandbox: KnownSandbox) => Promise<void>;
}

const LIFE_MS = 3_600_000;

export const killOperations: Record<string, KillOperation> = {
  create: {
    from: 'running',
    act: async ({ connection }) => {
      await (await Sandbox.create({ ...connection, timeoutMs: LIFE_MS })).kill();
    },
  },
  'pause with memory': {
    from: 'running',
    act: ({ connection }, { id }) => Sandbox.pause(id, connection),
  },
  'pause files only': {
    from: 'running',
    endsProcesses: true,
    act: ({ connection }, { id }) => Sandbox.pause(id, { ...connection, memory: false }),
  },
  'resume with memory': {
    from: 'paused with memory',
    act: async ({ connection }, { id }) => {
      await Sandbox.connect(id, { ...connection, timeoutMs: LIFE_MS });
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
    act: async ({ connection }, { id }) => {
      const { snapshotId } = await Sandbox.createSnapshot(id, connection);
      await Sandbox.deleteSnapshot(snapshotId, connection);
    },
  },
  'snapshot files only': {
    from: 'running',
    act: async ({ connection }, { id }) => {
      const { snapshotId } = await Sandbox.createSnapshot(id, { ...connection, memory: false });
      await Sandbox.deleteSnapshot(snapshotId, connection);
    },
  },
  fork: {
    from: 'running',
    act: async ({ connection }, { id }) => {
      for (const made of await Sandbox.fork(id, { ...connection, timeoutMs: LIFE_MS })) {
        if (made instanceof SandboxError) throw made;
        await made.kill();
      }
    },
  },
};

/** Brings a running sandbox into the state that an operation begins with. */
export const reach = async (state: PreviousState, stack: Stack, id: string): Promise<void> => {
  if (state === 'running') return;
  await Sandbox.pause(id, { ...stack.connection, memory: state === 'paused with memory' });
};
