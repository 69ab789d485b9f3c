import { ApiError, conflict, invalid, notFound, unimplemented } from '@skerry/contract/error';
import { type Difference, isRuntimeError, RuntimeError, type TreeOrigin } from '@skerry/runtime';
import type { Host, Hosts } from '../hosts/hosts.ts';
import type { BuildRow } from '../store/build-rows.ts';
import type { SandboxRow, SnapshotRow, TemplateRow } from '../store/rows.ts';
import type { Scope } from '../store/scope.ts';
import type { Store } from '../store/store.ts';
import type { Transitions } from './transitions.ts';

/** The files of a comparison: those of a sandbox, of a snapshot, or of a template's image. */
export type Inspected =
  | { sandbox: SandboxRow }
  | { template: TemplateRow; snapshot: SnapshotRow | null; build: BuildRow | null };

/** Verifies and compares files without running a sandbox. */
export interface Inspector {
  /** Descriptions of the files that changed since the snapshot was made. Rejects with `not_found`. */
  verify(snapshotId: string): Promise<string[]>;
  /**
   * The differences from `from`, by default the state that `to` was created from, to `to`. Rejects with `not_found`, also when the caller
   * may not see the default, with
   * `conflict` while a sandbox is in a transition or when it ends meanwhile, with `invalid_argument` when the two were
   * created from different images, have too many files or differ in too many, with `timeout` when the signal aborted,
   * and with `unimplemented` when this host cannot read the files of sandboxes.
   */
  diff(which: {
    from: Inspected | undefined;
    to: Inspected;
    scope: Scope;
    signal: AbortSignal;
  }): Promise<Difference[]>;
  /** The snapshot, the one that its sandbox was created from, and so on, up to the first that the caller may not see. */
  log(snapshot: SnapshotRow, scope: Scope): Promise<SnapshotRow[]>;
}

export interface InspectorOptions {
  store: Store;
  hosts: Pick<Hosts, 'of' | 'ofSnapshot' | 'forBuild' | 'features'>;
  transitions: Transitions;
  toRootfs(build: BuildRow | null): string;
}

export const createInspector = ({ store, hosts, transitions, toRootfs }: InspectorOptions): Inspector => {
  const ofSnapshot = async (snapshot: string): Promise<Tree> => ({
    origin: { snapshot },
    host: await hosts.ofSnapshot(snapshot),
  });

  const toTree = async (what: Inspected): Promise<Tree> => {
    if ('sandbox' in what)
      return { origin: { instance: what.sandbox.id }, host: hosts.of(what.sandbox.node) };
    if (what.snapshot !== null) return ofSnapshot(what.snapshot.id);
    return { origin: { rootfs: toRootfs(what.build) }, host: undefined };
  };

  const mayUse = async ({ project, templateId }: BuildRow, scope: Scope): Promise<boolean> =>
    scope.project === null ||
    project === scope.project ||
    (await store.findTemplate(templateId))?.public === true;

  /** Returns the files that a sandbox, or the sandbox of a snapshot, was created from. */
  const toOrigin = async (what: Inspected, scope: Scope): Promise<Tree> => {
    const snapshot = 'sandbox' in what ? what.sandbox.snapshotId : (what.snapshot?.parentId ?? null);
    if (snapshot !== null) {
      if ((await store.findVisibleSnapshot(snapshot, scope)) === undefined) throw hiddenOrigin();
      return ofSnapshot(snapshot);
    }
    const buildId = 'sandbox' in what ? what.sandbox.buildId : (what.snapshot?.buildId ?? null);
    const build = buildId === null ? null : ((await store.findBuild(buildId)) ?? null);
    if (build !== null && !(await mayUse(build, scope))) throw hiddenOrigin();
    return { origin: { rootfs: toRootfs(build) }, host: undefined };
  };

  const collect = async (
    { from, to, scope }: { from: Inspected | undefined; to: Inspected; scope: Scope },
    signal: AbortSignal,
  ) => {
    try {
      const trees = [
        await (from === undefined ? toOrigin(to, scope) : toTree(from)),
        await toTree(to),
      ] as const;
      const host = findOneHost(trees) ?? (await hosts.forBuild(trees[1].origin));
      const origins = [await host.prepare(trees[0].origin), await host.prepare(trees[1].origin)] as const;
      return await Array.fromAsync(host.runtime.snapshots.diff(...origins, { signal }));
    } catch (error) {
      signal.throwIfAborted();
      throw toInspectionError(error);
    }
  };

  /** Blocks a pause or resume of the sandbox meanwhile, but not its end. */
  const hold = async <T>(
    what: Inspected | undefined,
    work: () => Promise<T>,
    abort: AbortController,
  ): Promise<T> => {
    if (what === undefined || !('sandbox' in what)) return work();
    const { id } = what.sandbox;
    await transitions.copied(id);
    if (transitions.current(id) !== undefined)
      throw conflict(`sandbox "${id}" is busy with another operation`);
    const interrupt = (): void => abort.abort(conflict(`sandbox "${id}" has ended`));
    return transitions.run(id, 'snapshot', work, { interrupt });
  };

  return {
    verify: (snapshotId) =>
      hosts
        .ofSnapshot(snapshotId)
        .then(({ runtime }) => runtime.snapshots.verify(snapshotId))
        .catch((error: unknown) => {
          throw toInspectionError(error);
        }),
    diff: async ({ from, to, scope, signal }) => {
      if (!hosts.features.snapshot.filesystem) {
        throw unimplemented('this server cannot compare the files of sandboxes on its host');
      }
      const abort = new AbortController();
      const either = AbortSignal.any([signal, abort.signal]);
      const isSame =
        from !== undefined && 'sandbox' in from && 'sandbox' in to && from.sandbox.id === to.sandbox.id;
      const run = () => collect({ from, to, scope }, either);
      return hold(isSame ? undefined : from, () => hold(to, run, abort), abort);
    },
    log: async (snapshot, scope) => {
      const found = [snapshot];
      for (let last = snapshot; last.parentId !== null; ) {
        const parent = await store.findVisibleSnapshot(last.parentId, scope);
        if (parent === undefined) break;
        found.push(parent);
        last = parent;
      }
      return found;
    },
  };
};

const hiddenOrigin = (): ApiError =>
  notFound('query.to: what it was created from was not found: say in query.from what to compare it with');

/** Files, and the host that has them; undefined: an image, which any host can have. */
interface Tree {
  origin: TreeOrigin;
  host: Host | undefined;
}

/** The host of both; undefined for two images. Throws `unsupported` when the two are on different ones. */
const findOneHost = ([from, to]: readonly [Tree, Tree]): Host | undefined => {
  const host = from.host ?? to.host;
  if (host !== undefined && to.host !== undefined && to.host.node !== host.node)
    throw new RuntimeError('unsupported', `the two are on different nodes, ${host.node} and ${to.host.node}`);
  return host;
};

const toInspectionError = (cause: unknown): ApiError => {
  if (cause instanceof ApiError) return cause;
  if (isRuntimeError(cause, 'not_found')) return notFound('the files no longer exist', { cause });
  if (isRuntimeError(cause, 'unsupported'))
    return invalid(
      'the two were created from different images, have too many files, or differ in too many files',
      { cause },
    );
  if (isRuntimeError(cause, 'damaged')) {
    return new ApiError('internal', `the snapshot is damaged: ${cause.message}`, { cause });
  }
  return new ApiError('internal', 'the files could not be read', { cause });
};
