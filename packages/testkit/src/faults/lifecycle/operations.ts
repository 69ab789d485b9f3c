import { NotFoundError, Sandbox, SandboxError } from '@skerry/sdk';
import type { Stack } from '../../stack.ts';
import { type Content, startCounter, writeFile } from './kept-content.ts';

/** A sandbox that was acknowledged, as it should be. */
export interface KnownSandbox extends Content {
  id: string;
  files: Map<string, string>;
  state: 'running' | 'paused';
}

/** A snapshot that was acknowledged. */
export interface KnownSnapshot extends Content {
  id: string;
}

/** What an operation of the run works with; sandboxes and snapshots that it makes are added. */
export interface World {
  stack: Stack;
  sandboxes: Map<string, KnownSandbox>;
  snapshots: Map<string, KnownSnapshot>;
  random: () => number;
}

export const LIFE_MS = 3_600_000;

const connect = (stack: Stack, id: string): Promise<Sandbox> =>
  Sandbox.connect(id, { ...stack.connection, timeoutMs: LIFE_MS });

const toText = (random: () => number): string => String(random()).repeat(1 + Math.floor(random() * 400));

/** Each acts on one sandbox that nobody else acts on, in a state that suits it, and changes what is known of it when it is done. */
export const operations: Record<
  string,
  { from: KnownSandbox['state']; act: (world: World, sandbox: KnownSandbox) => Promise<void> }
> = {
  write: {
    from: 'running',
    act: async ({ stack, random }, known) => {
      const sandbox = await connect(stack, known.id);
      const name = `file-${known.files.size}`;
      known.files.set(...(await writeFile(sandbox, { name, text: toText(random) })));
    },
  },
  'pause with memory': {
    from: 'running',
    act: async ({ stack }, known) => {
      await Sandbox.pause(known.id, stack.connection);
      known.state = 'paused';
    },
  },
  'pause files only': {
    from: 'running',
    act: async ({ stack }, known) => {
      await Sandbox.pause(known.id, { ...stack.connection, memory: false });
      Object.assign(known, { state: 'paused', counter: undefined });
    },
  },
  resume: {
    from: 'paused',
    act: async ({ stack }, known) => {
      const sandbox = await connect(stack, known.id);
      known.state = 'running';
      known.counter ??= await startCounter(sandbox);
    },
  },
  fork: {
    from: 'running',
    act: async ({ stack, sandboxes, random }, known) => {
      const count = random() < 0.7 ? 1 : 2;
      const forks = await Sandbox.fork(known.id, { ...stack.connection, count, timeoutMs: LIFE_MS });
      for (const fork of forks) {
        if (fork instanceof SandboxError) throw fork;
        addSandbox(sandboxes, fork.sandboxId, known);
      }
    },
  },
  'snapshot with memory': {
    from: 'running',
    act: async ({ stack, snapshots }, known) => {
      const { snapshotId: id } = await Sandbox.createSnapshot(known.id, stack.connection);
      snapshots.set(id, { id, files: new Map(known.files), counter: known.counter });
    },
  },
  'snapshot files only': {
    from: 'running',
    act: async ({ stack, snapshots }, known) => {
      const { snapshotId: id } = await Sandbox.createSnapshot(known.id, {
        ...stack.connection,
        memory: false,
      });
      snapshots.set(id, { id, files: new Map(known.files), counter: undefined });
    },
  },
  kill: {
    from: 'running',
    act: async ({ stack, sandboxes }, { id }) => {
      await Sandbox.kill(id, stack.connection);
      sandboxes.delete(id);
    },
  },
  'kill while paused': {
    from: 'paused',
    act: async ({ stack, sandboxes }, { id }) => {
      await Sandbox.kill(id, stack.connection);
      sandboxes.delete(id);
    },
  },
};

const addSandbox = (sandboxes: World['sandboxes'], id: string, { files, counter }: Content): KnownSandbox => {
  const known: KnownSandbox = { id, files: new Map(files), counter, state: 'running' };
  sandboxes.set(id, known);
  return known;
};

export const create = async ({ stack, sandboxes, random }: World): Promise<void> => {
  const sandbox = await Sandbox.create({ ...stack.connection, timeoutMs: LIFE_MS });
  // From here on it is acknowledged.
  const known = addSandbox(sandboxes, sandbox.sandboxId, { files: new Map(), counter: undefined });
  known.counter = await startCounter(sandbox);
  known.files.set(...(await writeFile(sandbox, { name: 'file-0', text: toText(random) })));
};

export const createFromSnapshot = async (
  { stack, sandboxes }: World,
  snapshot: KnownSnapshot,
): Promise<void> => {
  const options = { ...stack.connection, template: snapshot.id, timeoutMs: LIFE_MS };
  const sandbox = await Sandbox.create(options);
  const known = addSandbox(sandboxes, sandbox.sandboxId, snapshot);
  known.counter ??= await startCounter(sandbox);
};

/** Nothing is done while sandboxes rest on it. Where a kill cuts it off, the snapshot is there or not, and nobody's. */
export const deleteSnapshot = async ({ stack, snapshots }: World, snapshot: KnownSnapshot): Promise<void> => {
  snapshots.delete(snapshot.id);
  try {
    await Sandbox.deleteSnapshot(snapshot.id, stack.connection);
  } catch (error) {
    if (!(error instanceof SandboxError && error.code === 'invalid_argument')) throw error;
    snapshots.set(snapshot.id, snapshot);
  }
};

/** The sandbox, made to run where it is paused; undefined when it is gone. */
export const findSandbox = async (stack: Stack, id: string): Promise<Sandbox | undefined> => {
  try {
    return await connect(stack, id);
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
};
