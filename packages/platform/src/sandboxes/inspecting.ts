import { ApiError, conflict, invalid, notFound, unimplemented } from '@skerry/contract/error';
import { type Difference, isRuntimeError, type Runtime, type TreeOrigin } from '@skerry/runtime';
import type { SandboxRow, SnapshotRow, Store, TemplateRow } from '../store/store.ts';
import type { Transitions } from './transitions.ts';

/** What files are asked about: those of a sandbox, of a snapshot, or of a template's image. */
export type Inspected = { sandbox: SandboxRow } | { template: TemplateRow; snapshot: SnapshotRow | null };

/** What can be learnt about files without running anything. */
export interface Inspecting {
  /** What is not as it was when the snapshot was made, in words. Rejects with `not_found`. */
  verify(snapshotId: string): Promise<string[]>;
  /**
   * What became of the files of `from`, by default what `to` began with, in `to`. Rejects with `not_found`, with
   * `conflict` while a sandbox is in a transition or when it comes to its end meanwhile, with `invalid_argument` when they
   * were made on different images, have too many files or differ in too many, with `timeout` when the signal aborted,
   * and with `unimplemented` when this host cannot read the files of sandboxes.
   */
  diff(which: { from: Inspected | undefined; to: Inspected; signal: AbortSignal }): Promise<Difference[]>;
  /** The snapshot, the one that its sandbox had begun with, and so on. */
  log(snapshot: SnapshotRow): Promise<SnapshotRow[]>;
}

export interface InspectingOptions {
  store: Store;
  runtime: Runtime;
  transitions: Transitions;
  images: { base: { rootfs: string } };
}

export const createInspecting = ({ store, runtime, transitions, images }: InspectingOptions): Inspecting => {
  const toTree = (what: Inspected): TreeOrigin => {
    if ('sandbox' in what) return { instance: what.sandbox.id };
    return what.snapshot === null ? { rootfs: images.base.rootfs } : { snapshot: what.snapshot.id };
  };

  const toOrigin = (what: Inspected): TreeOrigin => {
    const snapshot = 'sandbox' in what ? what.sandbox.snapshotId : (what.snapshot?.parentId ?? null);
    return snapshot === null ? { rootfs: images.base.rootfs } : { snapshot };
  };

  const collect = async (from: TreeOrigin, to: TreeOrigin, signal: AbortSignal): Promise<Difference[]> => {
    const found: Difference[] = [];
    try {
      for await (const difference of runtime.snapshots.diff(from, to, { signal })) found.push(difference);
    } catch (error) {
      signal.throwIfAborted();
      throw toInspectionError(error);
    }
    return found;
  };

  /** Nobody pauses or resumes it meanwhile, unless it comes to its end. */
  const hold = async <T>(
    what: Inspected | undefined,
    work: () => Promise<T>,
    abort: AbortController,
  ): Promise<T> => {
    if (what === undefined || !('sandbox' in what)) return work();
    const { id } = what.sandbox;
    if (transitions.current(id) !== undefined) throw conflict(`sandbox "${id}" is in a transition`);
    const interrupt = (): void => abort.abort(conflict(`sandbox "${id}" has come to its end`));
    return transitions.run(id, 'snapshot', work, { interrupt });
  };

  return {
    verify: (snapshotId) =>
      runtime.snapshots.verify(snapshotId).catch((error: unknown) => {
        throw toInspectionError(error);
      }),
    diff: async ({ from, to, signal }) => {
      if (!runtime.features.snapshot.filesystem) {
        throw unimplemented('this server cannot compare the files of sandboxes on its host');
      }
      const abort = new AbortController();
      const either = AbortSignal.any([signal, abort.signal]);
      const isSame =
        from !== undefined && 'sandbox' in from && 'sandbox' in to && from.sandbox.id === to.sandbox.id;
      const run = () => collect(from === undefined ? toOrigin(to) : toTree(from), toTree(to), either);
      return hold(isSame ? undefined : from, () => hold(to, run, abort), abort);
    },
    log: async (snapshot) => {
      const found = [snapshot];
      for (let last = snapshot; last.parentId !== null; ) {
        const parent = await store.findSnapshotRow(last.parentId);
        if (parent === undefined) break;
        found.push(parent);
        last = parent;
      }
      return found;
    },
  };
};

const toInspectionError = (cause: unknown): ApiError => {
  if (isRuntimeError(cause, 'not_found')) return notFound('the files are not there any more', { cause });
  if (isRuntimeError(cause, 'unsupported'))
    return invalid('the two were made on different images, or have or differ in too many files', { cause });
  if (isRuntimeError(cause, 'damaged')) {
    return new ApiError('internal', `the snapshot is damaged: ${cause.message}`, { cause });
  }
  return new ApiError('internal', 'the files could not be read', { cause });
};
