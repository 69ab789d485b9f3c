import { ApiError, conflict, invalid, notFound, unimplemented } from '@skerry/contract/error';
import { isRuntimeError, type Runtime } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { Log } from '../log.ts';
import { retryHeaders } from '../runtime-lost.ts';
import type { PauseKind, SandboxRow, Store, TaggedSnapshot } from '../store/store.ts';
import { findInstance } from './find-instance.ts';
import { requireSnapshot } from './pause-error.ts';
import { retryWhenCutOff } from './retry-when-cut-off.ts';
import { notRunning, toBusyError } from './running.ts';
import type { Transitions } from './transitions.ts';

export interface SnapshotRequest {
  kind: PauseKind;
  /** Null: its template gets an id only. */
  name: string | null;
  tag: string;
}

/** Snapshots from their making to their end. */
export interface Snapshotting {
  /**
   * Resolves when the files are safe and a tag leads to them. The sandbox stays what it is, running or paused. When it
   * rejects, nothing of the snapshot is left or what is left is on its way out. Rejects with `not_found`, with `conflict`
   * while the sandbox is in a transition, with `invalid_argument` for a name that another kind of template has or when this
   * host cannot capture what is asked for, and with `unavailable` when there is no room.
   */
  create(sandboxId: string, request: SnapshotRequest): Promise<TaggedSnapshot>;
  /**
   * Captures a running sandbox with its processes for `use` alone, to which nothing but the id leads, and resolves with
   * what that did; the snapshot is gone then. The sandbox is free for other transitions as soon as it is captured. Rejects
   * as `create` does, with `conflict` for a paused one, and with `unimplemented` when this host cannot capture processes.
   */
  lend<T>(sandboxId: string, use: (id: string, row: SandboxRow) => Promise<T>): Promise<T>;
  /**
   * Takes a tag of a template away, or without one the whole template; files to which nothing leads any more are gone, or
   * on their way out, when it resolves. Rejects with `not_found`, and with `invalid_argument` while sandboxes that began
   * with it are there.
   */
  delete(which: { templateId: string; tag?: string }): Promise<void>;
  /**
   * Removes what no tag and no sandbox leads to, what a process before this one was making or removing, and what the
   * runtime has and no row knows.
   */
  collect(): Promise<void>;
}

export interface SnapshottingOptions {
  store: Store;
  runtime: Runtime;
  transitions: Transitions;
  clock: Clock;
  ids: Ids;
  log: Log;
}

export const createSnapshotting = (options: SnapshottingOptions): Snapshotting => {
  const { store, runtime, transitions, clock, ids, log } = options;
  const making = new Set<string>();

  const remove = async (id: string): Promise<void> => {
    await retryWhenCutOff(() => runtime.snapshots.delete(id));
    await store.forgetSnapshot(id);
  };

  const removeEach = async (found: Iterable<string>): Promise<void> => {
    for (const id of found) {
      await remove(id).catch((error) =>
        log.error('a snapshot could not be removed and is tried again', { snapshotId: id, error }),
      );
    }
  };

  /** Whoever captured it may have been ended in the middle and left it standing still: found again, it runs on. */
  const isThere = async (sandboxId: string): Promise<boolean> => {
    try {
      const instance = await findInstance(runtime, sandboxId);
      return instance !== undefined && (await instance.state()) !== 'stopped';
    } catch (error) {
      log.warn('a sandbox that was being captured cannot be looked at', { sandboxId, error });
      return true;
    }
  };

  const requireFreeName = async (name: string | null): Promise<void> => {
    const known = name === null ? undefined : await store.findTemplate(name);
    if (known !== undefined && known.kind !== 'snapshot') throw nameTaken(name);
  };

  /** Makes a snapshot to which nothing leads yet and resolves with what `publish` makes of it. */
  const capture = async <T>(
    id: string,
    { row, kind, ephemeral }: { row: SandboxRow; kind: PauseKind; ephemeral: boolean },
    publish: () => Promise<T>,
  ): Promise<T> => {
    const createdAt = clock.now();
    const { cpuCount, memoryMb, diskMb } = row;
    const size = { cpuCount, memoryMb, diskMb };
    await store.beginSnapshot({ id, sandboxId: row.id, parentId: row.snapshotId, kind, createdAt, ...size });
    try {
      await (await runtime.get(row.id)).snapshot({ id, memory: kind === 'memory', ephemeral });
      const made = await publish();
      log.info('snapshot made', { sandboxId: row.id, snapshotId: id, tookMs: clock.now() - createdAt });
      return made;
    } catch (error) {
      log.error('no snapshot was made', { sandboxId: row.id, snapshotId: id, error });
      await removeEach([id]);
      throw toSnapshotError(error, { row, kind, isThere: await isThere(row.id) });
    }
  };

  return {
    create: async (sandboxId, request) => {
      if (transitions.current(sandboxId) !== undefined) {
        throw conflict(`sandbox "${sandboxId}" is in another transition`);
      }
      const made = await transitions.run(sandboxId, 'snapshot', async () => {
        const row = await store.findSandbox(sandboxId);
        if (row?.state !== 'running' && row?.state !== 'paused') {
          throw toBusyError(row) ?? notRunning(sandboxId);
        }
        requireSnapshot(runtime.features, request.kind);
        await requireFreeName(request.name);
        const { kind, name, tag } = request;
        const id = ids.snapshotId();
        making.add(id);
        const publish = async (): Promise<TaggedSnapshot> => {
          const published = await store.publishSnapshot(id, { templateId: ids.templateId(), name, tag });
          if (published === 'taken') throw nameTaken(name);
          if (published === undefined) throw new Error('the row left the state "making" meanwhile');
          return published;
        };
        return capture(id, { row, kind, ephemeral: false }, publish).finally(() => making.delete(id));
      });
      await removeEach(await store.listSnapshotIds('removing'));
      return made;
    },
    lend: async (sandboxId, use) => {
      if (transitions.current(sandboxId) !== undefined) {
        throw conflict(`sandbox "${sandboxId}" is in another transition`);
      }
      const id = ids.snapshotId();
      making.add(id);
      try {
        const row = await transitions.run(sandboxId, 'snapshot', async () => {
          const found = await store.findSandbox(sandboxId);
          if (found?.state === 'paused') throw conflict(`sandbox "${sandboxId}" is paused`);
          if (found?.state !== 'running') throw toBusyError(found) ?? notRunning(sandboxId);
          if (!runtime.features.snapshot.memory) {
            throw unimplemented('this server cannot capture the processes of sandboxes on its host');
          }
          return capture(id, { row: found, kind: 'memory', ephemeral: true }, async () => found);
        });
        try {
          return await use(id, row);
        } finally {
          await removeEach([id]);
        }
      } finally {
        making.delete(id);
      }
    },
    delete: async (which) => {
      const outcome = await store.retireSnapshots(which);
      if (outcome === 'not_found') throw notFound(`template "${which.templateId}" was not found`);
      if (outcome === 'in_use') {
        throw invalid(`template "${which.templateId}" is used by sandboxes that are running or paused`);
      }
      await removeEach(await store.listSnapshotIds('removing'));
    },
    collect: async () => {
      await store.retireUnused();
      const unfinished = await store.listSnapshotIds('making');
      await removeEach(unfinished.filter((id) => !making.has(id)));
      await removeEach(await store.listSnapshotIds('removing'));
      const found: string[] = [];
      for await (const { id } of runtime.snapshots.list()) found.push(id);
      const known = new Set(
        (await Promise.all([store.listSnapshotIds('making'), store.listSnapshotIds('ready')])).flat(),
      );
      await removeEach(found.filter((id) => !known.has(id)));
    },
  };
};

const nameTaken = (name: string | null): ApiError =>
  invalid(`body.name: "${name}" is the name of a template that is no snapshot`);

/** What the caller learns of a snapshot that was not made; the cause is for the log. */
const toSnapshotError = (
  cause: unknown,
  { row, kind, isThere }: { row: SandboxRow; kind: PauseKind; isThere: boolean },
): ApiError => {
  if (cause instanceof ApiError) return cause;
  if (isRuntimeError(cause, 'exhausted')) {
    return new ApiError(
      'unavailable',
      'this host has no room for the snapshot now; the sandbox is as it was',
      { cause, reason: 'sandbox_capacity_unavailable' },
    );
  }
  if (!isThere) return notRunning(row.id);
  if (isRuntimeError(cause, 'unavailable')) {
    const message = 'the snapshot was cut off; the sandbox is as it was';
    return new ApiError('unavailable', message, { cause, headers: retryHeaders(cause) });
  }
  if (isRuntimeError(cause, 'unsupported')) {
    return invalid(
      kind === 'memory' && row.state === 'paused'
        ? 'body.memory: the sandbox was paused without its memory'
        : 'the sandbox cannot be captured: it has too many files, or some lie too deep in each other',
      { cause },
    );
  }
  return new ApiError('internal', 'the snapshot could not be made; the sandbox is as it was', { cause });
};
