import { NotFoundError, Sandbox, SandboxError, snapshots } from '@skerry/sdk';
import type { StackClient } from '../../stack/stack-client.ts';
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

/** Where the operations of a run go. */
export type Target = Pick<StackClient, 'connection'>;

/** What an operation of the run works with; sandboxes and snapshots that it makes are added. */
export interface World {
  target: Target;
  sandboxes: Map<string, KnownSandbox>;
  snapshots: Map<string, KnownSnapshot>;
  /** Ids of sandboxes whose end was acknowledged. */
  ended: Set<string>;
  /** Ids of sandboxes with a running operation. */
  busy: Set<string>;
  /** What was acknowledged and is not there, in words. */
  losses: string[];
  random: () => number;
}

export const LIFE_MS = 3_600_000;
const STREAM_LINES = 40;

const connect = (target: Target, id: string): Promise<Sandbox> =>
  Sandbox.connect(id, { ...target.connection, timeoutMs: LIFE_MS });

const toText = (random: () => number): string => String(random()).repeat(1 + Math.floor(random() * 400));

/** Ends a sandbox, whatever its state is. */
export const endSandbox = async (
  { target, sandboxes, ended }: Pick<World, 'target' | 'sandboxes' | 'ended'>,
  { id }: Pick<KnownSandbox, 'id'>,
): Promise<void> => {
  await Sandbox.kill(id, target.connection);
  sandboxes.delete(id);
  ended.add(id);
};

/** Each acts on one sandbox that no other operation uses, in a state that suits it, and changes what is known of it when it is done. */
export const operations: Record<
  string,
  { from: KnownSandbox['state']; act: (world: World, sandbox: KnownSandbox) => Promise<void> }
> = {
  write: {
    from: 'running',
    act: async ({ target, random }, known) => {
      const sandbox = await connect(target, known.id);
      const name = `file-${known.files.size}`;
      known.files.set(...(await writeFile(sandbox, { name, text: toText(random) })));
    },
  },
  'read a stream': {
    from: 'running',
    act: async ({ target, losses }, { id }) => {
      const sandbox = await connect(target, id);
      const lines = Array.from({ length: STREAM_LINES }, (_, index) => `${index}\n`).join('');
      const command = `for i in $(seq 0 ${STREAM_LINES - 1}); do echo $i; sleep 0.05; done`;
      const { stdout } = await sandbox.commands.run(command);
      if (stdout !== lines) losses.push(`a stream of ${id} brought ${JSON.stringify(stdout)}`);
    },
  },
  'pause with memory': {
    from: 'running',
    act: async ({ target }, known) => {
      await Sandbox.pause(known.id, target.connection);
      known.state = 'paused';
    },
  },
  'pause files only': {
    from: 'running',
    act: async ({ target }, known) => {
      await Sandbox.pause(known.id, { ...target.connection, memory: false });
      Object.assign(known, { state: 'paused', counter: undefined });
    },
  },
  resume: {
    from: 'paused',
    act: async ({ target }, known) => {
      const sandbox = await connect(target, known.id);
      known.state = 'running';
      known.counter ??= await startCounter(sandbox);
    },
  },
  fork: {
    from: 'running',
    act: async ({ target, sandboxes, random }, known) => {
      const count = random() < 0.7 ? 1 : 2;
      const forks = await Sandbox.fork(known.id, { ...target.connection, count, timeoutMs: LIFE_MS });
      for (const fork of forks) {
        if (fork instanceof SandboxError) throw fork;
        addSandbox(sandboxes, fork.sandboxId, known);
      }
    },
  },
  'snapshot with memory': {
    from: 'running',
    act: async ({ target, snapshots }, known) => {
      const { snapshotId: id } = await Sandbox.createSnapshot(known.id, target.connection);
      snapshots.set(id, { id, files: new Map(known.files), counter: known.counter });
    },
  },
  'snapshot files only': {
    from: 'running',
    act: async ({ target, snapshots }, known) => {
      const { snapshotId: id } = await Sandbox.createSnapshot(known.id, {
        ...target.connection,
        memory: false,
      });
      snapshots.set(id, { id, files: new Map(known.files), counter: undefined });
    },
  },
  kill: {
    from: 'running',
    act: endSandbox,
  },
  'kill while paused': {
    from: 'paused',
    act: endSandbox,
  },
};

const addSandbox = (sandboxes: World['sandboxes'], id: string, { files, counter }: Content): KnownSandbox => {
  const known: KnownSandbox = { id, files: new Map(files), counter, state: 'running' };
  sandboxes.set(id, known);
  return known;
};

/** Makes a sandbox that is acknowledged, and usable by all operations, before and after what is done first in it. */
const createWith = async (
  { target, sandboxes, busy }: World,
  { template, content }: { template: string; content: Content },
  act: (sandbox: Sandbox, known: KnownSandbox) => Promise<void>,
): Promise<void> => {
  const sandbox = await Sandbox.create({ ...target.connection, template, timeoutMs: LIFE_MS });
  const { sandboxId: id } = sandbox;
  busy.add(id);
  try {
    await act(sandbox, addSandbox(sandboxes, id, content));
  } finally {
    busy.delete(id);
  }
};

export const create = (world: World): Promise<void> =>
  createWith(
    world,
    { template: 'base', content: { files: new Map(), counter: undefined } },
    async (sandbox, known) => {
      known.counter = await startCounter(sandbox);
      known.files.set(...(await writeFile(sandbox, { name: 'file-0', text: toText(world.random) })));
    },
  );

/** Tells whether it was done: not where another lane has deleted the snapshot meanwhile. */
export const createFromSnapshot = async (world: World, snapshot: KnownSnapshot): Promise<boolean> => {
  try {
    await createWith(world, { template: snapshot.id, content: snapshot }, async (sandbox, known) => {
      known.counter ??= await startCounter(sandbox);
    });
    return true;
  } catch (error) {
    if (error instanceof NotFoundError && !world.snapshots.has(snapshot.id)) return false;
    throw error;
  }
};

/** Tells whether it was done: not while sandboxes rest on it. */
export const deleteUnused = async ({ connection }: Target, id: string): Promise<boolean> => {
  try {
    return await snapshots.delete(id, connection);
  } catch (error) {
    if (error instanceof SandboxError && error.code === 'invalid_argument') return false;
    throw error;
  }
};

/** Deletes a snapshot. Where a kill cuts it off, the snapshot exists or not, and no operation uses it. */
export const deleteSnapshot = async (
  { target, snapshots }: World,
  snapshot: KnownSnapshot,
): Promise<boolean> => {
  // Two lanes may have chosen the same one: to the second it would look like one that is in use.
  if (!snapshots.delete(snapshot.id)) return false;
  const isGone = await deleteUnused(target, snapshot.id);
  if (!isGone) snapshots.set(snapshot.id, snapshot);
  return isGone;
};

/** The sandbox, made to run where it is paused; undefined when it is gone. */
export const findSandbox = async (target: Target, id: string): Promise<Sandbox | undefined> => {
  try {
    return await connect(target, id);
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
};
