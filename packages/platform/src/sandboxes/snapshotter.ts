import { ApiError, conflict, invalid, notFound } from '@skerry/contract/error';
import { isRuntimeError } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import { findInstance, getInstance, type Placed } from '../hosts/find-instance.ts';
import type { HostedInstance, Hosts } from '../hosts/hosts.ts';
import type { Ids } from '../ids.ts';
import type { Log } from '../log.ts';
import { retryHeaders } from '../runtime-lost.ts';
import type { BuildRow } from '../store/build-rows.ts';
import type { PauseKind, SandboxRow, TaggedSnapshot } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { TemplatePart } from '../store/tags/tag-rows.ts';
import { keptAt } from './kept-at.ts';
import { requireFork, requireSnapshot, toObstacleError } from './pause-error.ts';
import { retryWhenLost } from './retry-when-lost.ts';
import type { Transitions } from './transitions.ts';
import { explainMissing, toBusyError, toMissingError } from './visible-state.ts';

export interface SnapshotRequest {
  kind: PauseKind;
  /** Null: its template has an id only. */
  name: string | null;
  tag: string;
}

/** Makes, publishes and removes snapshots. */
export interface Snapshotter {
  /**
   * Resolves when the files are safe and a tag points to them. The sandbox stays running or paused. When it rejects,
   * everything of the snapshot is removed, or its removal is in progress. Rejects with `not_found`, with `conflict`
   * while the sandbox is in a transition, with `invalid_argument` for a name that another kind of template has or when
   * this host cannot capture what was requested, and with `unavailable` when the disk is full.
   */
  create(sandboxId: string, request: SnapshotRequest): Promise<TaggedSnapshot>;
  /**
   * Captures a running sandbox for `use` alone, with no tag pointing to it, and resolves with the result of `use`; the
   * snapshot is then removed. The sandbox is free for other transitions as soon as it is captured. Rejects as `create`
   * does, with `conflict` for a paused sandbox, and with `unimplemented` when this host cannot capture what was requested.
   */
  lend<T>(
    which: { sandboxId: string; kind: PauseKind },
    use: (id: string, row: SandboxRow) => Promise<T>,
  ): Promise<T>;
  /**
   * Captures a sandbox in the pause of that time for `use` alone, with what the pause kept, and resolves with the result of `use`; the
   * snapshot is then removed. Rejects as `create` does, and with `conflict` when it is not in that pause.
   */
  copyPaused<T>(
    which: { sandboxId: string; pausedAt: number | null },
    use: (id: string, row: SandboxRow) => Promise<T>,
  ): Promise<T>;
  /** Records a snapshot on a node, which `bring` makes there, and removes it after `use`. Rejects as the two do. */
  bringCopy<T>(
    which: { row: SandboxRow; node: string },
    bring: (id: string) => Promise<void>,
    use: (id: string) => Promise<T>,
  ): Promise<T>;
  /**
   * Captures an instance of a build with its processes, over the image of that build. Resolves with the id of the
   * snapshot, which no `collect` removes until its `release`. Rejects with what the runtime fails with; nothing of the
   * snapshot is left then, or its removal is in progress.
   */
  checkpoint(hosted: HostedInstance, build: BuildRow): Promise<string>;
  /** Captures the files alone, otherwise as `checkpoint` does. */
  captureFiles(hosted: HostedInstance, build: BuildRow): Promise<string>;
  /** Gives up a capture: it is removed unless it has become ready with its build, or in the cache. */
  release(id: string): Promise<void>;
  /**
   * Removes a template or a part of it; when it resolves, files without a tag are removed, or their removal is in progress. Rejects with
   * `not_found`, and with `invalid_argument` while sandboxes that were created from it exist.
   */
  delete(part: TemplatePart): Promise<void>;
  /**
   * Removes snapshots without a tag, a sandbox and a build, those that an earlier process was making or removing, and those of
   * the runtime that have no row.
   */
  collect(): Promise<void>;
}

export interface SnapshotterOptions {
  store: Store;
  /** Another server removes what is on a host for which this one does not act. */
  hosts: Pick<Hosts, 'of' | 'owns' | 'snapshots' | 'features'>;
  transitions: Transitions;
  clock: Clock;
  ids: Ids;
  log: Log;
}

export const createSnapshotter = (options: SnapshotterOptions): Snapshotter => {
  const { store, hosts, transitions, clock, ids, log } = options;
  const making = new Set<string>();

  const remove = async (id: string, node: string | null): Promise<void> => {
    try {
      await retryWhenLost(async () => hosts.of(node).runtime.snapshots.delete(id)).catch((error: unknown) => {
        // The snapshot is on no host: the blob store alone has it, whose copies are removed elsewhere.
        if (!isRuntimeError(error, 'not_found')) throw error;
      });
      await store.forgetSnapshot(id);
    } catch (error) {
      log.error('a snapshot could not be removed; the removal will be retried', { snapshotId: id, error });
    }
  };

  const removeEach = async (found: Iterable<string>): Promise<void> => {
    for (const id of found) {
      const row = await store.findSnapshotRow(id);
      if (row !== undefined && hosts.owns(row.node)) await remove(id, row.node);
    }
  };

  /** An interrupted capture may have left the sandbox frozen: looking it up again thaws it. */
  const isThere = async (sandbox: Placed): Promise<boolean> => {
    try {
      const instance = await findInstance(hosts, sandbox);
      return instance !== undefined && (await instance.state()) !== 'stopped';
    } catch (error) {
      log.warn('a sandbox whose capture was interrupted cannot be looked up', {
        sandboxId: sandbox.id,
        error,
      });
      return true;
    }
  };

  const requireFreeName = async (project: string, name: string | null): Promise<void> => {
    const known = name === null ? undefined : await store.findNamedTemplate({ project, name });
    if (known !== undefined && known.kind !== 'snapshot') throw nameTaken(name);
  };

  /** Makes a snapshot that no tag points to yet, and resolves with the result of `publish` for it. */
  const capture = async <T>(
    id: string,
    {
      row,
      kind,
      ephemeral = false,
      unlisted = false,
    }: { row: SandboxRow; kind: PauseKind; ephemeral?: boolean; unlisted?: boolean },
    publish: () => Promise<T>,
  ): Promise<T> => {
    const createdAt = clock.now();
    const { cpuCount, memoryMb, diskMb } = row;
    const size = { cpuCount, memoryMb, diskMb };
    const { project, snapshotId: parentId, buildId, node, isolation } = row;
    await store.beginSnapshot({
      id,
      project,
      sandboxId: row.id,
      isolation,
      parentId,
      buildId,
      kind,
      createdAt,
      ...size,
      node,
    });
    try {
      await (await getInstance(hosts, row)).snapshot({
        id,
        memory: kind === 'memory',
        ephemeral,
        ...(unlisted && { unlisted }),
      });
      const made = await publish();
      log.info('snapshot made', { sandboxId: row.id, snapshotId: id, tookMs: clock.now() - createdAt });
      return made;
    } catch (error) {
      log.error('a snapshot could not be made', { sandboxId: row.id, snapshotId: id, error });
      await removeEach([id]);
      const missing = (await isThere(row)) ? undefined : await explainMissing({ store, clock }, row.id);
      throw toSnapshotError(error, { row, kind, missing });
    }
  };

  /** Calls `work` with the id of a snapshot that no `collect` removes meanwhile. */
  const withId = async <T>(work: (id: string) => Promise<T>): Promise<T> => {
    const id = ids.snapshotId();
    making.add(id);
    try {
      return await work(id);
    } finally {
      making.delete(id);
    }
  };

  const requireIdle = (sandboxId: string): void => {
    if (transitions.current(sandboxId) !== undefined)
      throw conflict(`sandbox "${sandboxId}" is busy with another operation`);
  };

  /** Captures a sandbox by `take` in that transition, and removes the snapshot after `use`. */
  const borrow = async <T>(
    { sandboxId, transition }: { sandboxId: string; transition: 'snapshot' | 'copy' },
    use: (id: string, row: SandboxRow) => Promise<T>,
    take: (id: string, found: SandboxRow | undefined) => Promise<SandboxRow>,
  ): Promise<T> => {
    requireIdle(sandboxId);
    return withId(async (id) => {
      const row = await transitions.run(sandboxId, transition, async () =>
        take(id, await store.findSandbox(sandboxId)),
      );
      try {
        return await use(id, row);
      } finally {
        await removeEach([id]);
      }
    });
  };

  const release = async (id: string): Promise<void> => {
    const row = await store.findSnapshotRow(id);
    if (row?.state === 'making') await removeEach([id]);
    making.delete(id);
  };

  const captureBuild = async (
    { host, instance }: HostedInstance,
    { project, cpuCount, memoryMb, diskMb }: BuildRow,
    of: { kind: PauseKind; buildId: string | null },
  ): Promise<string> => {
    const id = ids.snapshotId();
    making.add(id);
    try {
      const size = { cpuCount, memoryMb, diskMb };
      const { isolation } = instance;
      const row = {
        id,
        project,
        sandboxId: instance.id,
        isolation,
        parentId: null,
        createdAt: clock.now(),
        ...of,
        ...size,
      };
      await store.beginSnapshot({ ...row, node: host.node });
      const memory = of.kind === 'memory';
      // Nothing compares the files of a step, and the caller waits.
      await instance.snapshot({ id, memory, unlisted: !memory });
      return id;
    } catch (error) {
      await release(id);
      throw error;
    }
  };

  return {
    release,
    checkpoint: (hosted, build) => captureBuild(hosted, build, { kind: 'memory', buildId: build.id }),
    captureFiles: (hosted, build) => captureBuild(hosted, build, { kind: 'filesystem', buildId: null }),
    create: async (sandboxId, request) => {
      await transitions.copied(sandboxId);
      requireIdle(sandboxId);
      const made = await transitions.run(sandboxId, 'snapshot', async () => {
        const row = await store.findSandbox(sandboxId);
        if (row?.state !== 'running' && row?.state !== 'paused') {
          throw toBusyError(row) ?? toMissingError(sandboxId, row, clock);
        }
        requireSnapshot(keptAt(hosts.features, row.isolation), request.kind);
        const { kind, name, tag } = request;
        await requireFreeName(row.project, name);
        const publish = async (id: string): Promise<TaggedSnapshot> => {
          const published = await store.publishSnapshot(id, { templateId: ids.templateId(), name, tag });
          if (published === 'taken') throw nameTaken(name);
          if (published === undefined) throw new Error('the row left the state "making" meanwhile');
          return published;
        };
        return withId((id) => capture(id, { row, kind, ephemeral: false }, () => publish(id)));
      });
      await removeEach(await store.listSnapshotIds('removing'));
      return made;
    },
    lend: ({ sandboxId, kind }, use) =>
      borrow({ sandboxId, transition: 'snapshot' }, use, (id, found) => {
        if (found?.state === 'paused') throw conflict(`sandbox "${sandboxId}" is paused`);
        if (found?.state !== 'running') throw toBusyError(found) ?? toMissingError(sandboxId, found, clock);
        requireFork(keptAt(hosts.features, found.isolation), kind);
        return capture(id, { row: found, kind, ephemeral: true }, async () => found);
      }),
    copyPaused: ({ sandboxId, pausedAt }, use) =>
      borrow({ sandboxId, transition: 'copy' }, use, (id, found) => {
        if (found?.state !== 'paused' || found.pausedAt !== pausedAt)
          throw conflict(`sandbox "${sandboxId}" is not in that pause any more`);
        const kind = found.pausedWith ?? 'filesystem';
        return capture(id, { row: found, kind, unlisted: true }, async () => found);
      }),
    bringCopy: ({ row, node }, bring, use) =>
      withId(async (id) => {
        const { project, snapshotId: parentId, buildId, cpuCount, memoryMb, diskMb, isolation } = row;
        const kind = row.pausedWith ?? 'filesystem';
        const of = { project, sandboxId: row.id, isolation, parentId, buildId, kind, createdAt: clock.now() };
        await store.beginSnapshot({ id, ...of, cpuCount, memoryMb, diskMb, node });
        try {
          await bring(id);
          return await use(id);
        } finally {
          await removeEach([id]);
        }
      }),
    delete: async (part) => {
      const outcome = await store.retireSnapshots(part);
      if (outcome === 'not_found') throw notFound(`template "${part.templateId}" was not found`);
      if (outcome === 'in_use') {
        throw invalid(`template "${part.templateId}" is used by sandboxes that are running or paused`);
      }
      await removeEach(await store.listSnapshotIds('removing'));
    },
    collect: async () => {
      await store.retireUnused();
      const unfinished = await store.listSnapshotIds('making');
      await removeEach(unfinished.filter((id) => !making.has(id)));
      await removeEach(await store.listSnapshotIds('removing'));
      const found = await Array.fromAsync(hosts.snapshots());
      const known = new Set(
        (await Promise.all([store.listSnapshotIds('making'), store.listSnapshotIds('ready')])).flat(),
      );
      for (const { host, snapshot } of found)
        if (!known.has(snapshot.id)) await remove(snapshot.id, host.node);
    },
  };
};

const nameTaken = (name: string | null): ApiError =>
  invalid(`body.name: "${name}" is the name of a template that is not a snapshot`);

/** The error for the caller of a failed snapshot; the cause is for the log. */
const toSnapshotError = (
  cause: unknown,
  { row, kind, missing }: { row: SandboxRow; kind: PauseKind; missing: ApiError | undefined },
): ApiError => {
  if (cause instanceof ApiError) return cause;
  if (isRuntimeError(cause, 'exhausted')) {
    return new ApiError(
      'unavailable',
      'this host has too little free space for the snapshot now; the sandbox is unchanged',
      { cause, reason: 'sandbox_capacity_unavailable' },
    );
  }
  if (missing !== undefined) return missing;
  const sentence = 'the memory of the sandbox cannot be captured now';
  const obstacle = toObstacleError(cause, { sentence, outcome: 'The sandbox is unchanged' });
  if (obstacle !== undefined) return obstacle;
  if (isRuntimeError(cause, 'unavailable')) {
    const message = 'the snapshot was interrupted; the sandbox is unchanged';
    return new ApiError('unavailable', message, { cause, headers: retryHeaders(cause) });
  }
  if (isRuntimeError(cause, 'unsupported')) {
    return invalid(
      kind === 'memory' && row.state === 'paused'
        ? 'body.memory: the sandbox was paused without its memory'
        : 'the sandbox cannot be captured: it has too many files, or its directories are nested too deeply',
      { cause },
    );
  }
  return new ApiError('internal', 'the snapshot could not be made; the sandbox is unchanged', { cause });
};
