import { ApiError } from '@skerry/contract/error';
import { type Features, type Instance, type Runtime, RuntimeError, type TreeOrigin } from '@skerry/runtime';
import type { Log } from '../log.ts';
import type { SnapshotRow } from '../store/rows.ts';
import { askNodes } from './ask-nodes.ts';
import type { CopyNode } from './copies.ts';
import { type FleetImages, isImageOfNodes } from './fleet-images.ts';
import { toNodeInstance } from './node-instance.ts';
import { NodeUnreachableError, namingNode } from './unreachable.ts';

/** The image of the base template, whose path each node knows. */
export const baseOfNode = 'node:base';

/** A node that answers now. */
export interface ReachableNode extends CopyNode {
  runtime: Runtime;
}

export interface FleetOptions {
  /** The nodes that answer now. */
  reachable(): ReachableNode[];
  /** The node of a sandbox; undefined when there is no record of it, or it is on no node. */
  locateSandbox(id: string): Promise<string | undefined>;
  /** The record of a snapshot. On no node it is in the blob store only. */
  findSnapshot(id: string): Promise<Pick<SnapshotRow, 'node' | 'state'> | undefined>;
  /** The node of a sandbox that is on no record: one of a build. Throws `ApiError` when none can have it. */
  builder(): ReachableNode;
  images: FleetImages;
  /** Whether a snapshot is on its way to a node; undefined where none ever moves. */
  isBeingFetched?: ((id: string) => boolean) | undefined;
  features: Features;
  log: Log;
}

export interface FleetRuntime extends Runtime {
  /** The node of a sandbox of a build; undefined when this process has made none of that id. */
  nodeOfBuild(id: string): string | undefined;
  /** The node of an instance of this runtime. */
  nodeOf(instance: Instance): string | null;
}

/**
 * The sandboxes of all nodes as those of one runtime. Each is on the node that its record names, which is written before it is made; one
 * without a record is of a build. Calls for what is on a node that does not answer reject with `NodeUnreachableError`; lists leave it out.
 */
export const createFleetRuntime = ({
  reachable,
  locateSandbox,
  findSnapshot,
  builder,
  images,
  isBeingFetched,
  features,
  log,
}: FleetOptions): FleetRuntime => {
  /** The sandboxes of builds, which are on no record. */
  const building = new Map<string, string>();
  /** Of snapshots that a list has found: those without a record are removed by that. */
  const listed = new Map<string, string>();

  const homes = new WeakMap<Instance, string>();

  const wrap = (name: string, inner: Instance): Instance => {
    const instance = toWrapped(name, inner);
    homes.set(instance, name);
    return instance;
  };
  const toWrapped = (name: string, instance: Instance): Instance =>
    toNodeInstance(name, instance, {
      isUp: () => reachable().some((node) => node.name === name),
      exportImage: (how) => exportFrom(requireNode(name, instance.id), how, (to) => instance.exportImage(to)),
      onStopped: () => building.delete(instance.id),
    });

  const requireNode = (name: string | undefined, what: string): ReachableNode => {
    if (name === undefined) throw new RuntimeError('not_found', `${what} is on no node`);
    const node = reachable().find((one) => one.name === name);
    if (node === undefined) throw new NodeUnreachableError(name);
    return node;
  };
  const ofSandbox = async (id: string) =>
    requireNode(building.get(id) ?? (await locateSandbox(id)), `sandbox ${id}`);
  const locateSnapshot = async (id: string) => (await findSnapshot(id))?.node ?? undefined;
  const ofSnapshot = async (id: string) => {
    const row = await findSnapshot(id);
    if (row?.state === 'ready' && row.node === null)
      throw new ApiError(
        'unavailable',
        'the snapshot is in the blob store only: create a sandbox that begins with it first',
      );
    return requireNode(row?.node ?? undefined, `snapshot ${id}`);
  };

  const toOrigin = async <O extends TreeOrigin>(origin: O, node: ReachableNode): Promise<O> => {
    if (!('rootfs' in origin)) return origin;
    if (isImageOfNodes(origin.rootfs))
      return { ...origin, rootfs: await images.toNodePath(origin.rootfs, node) };
    if (origin.rootfs !== baseOfNode)
      throw new RuntimeError('unsupported', 'this is no image of a template on nodes');
    return { ...origin, rootfs: node.baseRootfs };
  };

  const exportFrom = async <T>(
    node: ReachableNode,
    { path, signal }: { path: string; signal?: AbortSignal },
    write: (to: { path: string; signal?: AbortSignal }) => Promise<T>,
  ): Promise<T> => {
    const to = { path: images.toExportPath(path, node), ...(signal && { signal }) };
    const made = await namingNode(node.name, write(to));
    images.noteExport(path, node.name);
    return made;
  };

  /** Where a sandbox of a build is made: with its snapshot, or where builds are made now. */
  const placeBuild = async (origin: TreeOrigin): Promise<ReachableNode> => {
    if (!('snapshot' in origin)) return builder();
    const name = await locateSnapshot(origin.snapshot);
    const node = reachable().find((one) => one.name === name);
    // For the cache of builds: the steps run again.
    if (node === undefined)
      throw new RuntimeError('not_found', `snapshot ${origin.snapshot} is on no node that answers`);
    return node;
  };

  async function* each<T>(
    list: (node: ReachableNode) => AsyncIterable<T>,
  ): AsyncGenerator<[ReachableNode, T]> {
    const lists = await askNodes(reachable(), async (node) => {
      const found: [ReachableNode, T][] = [];
      try {
        for await (const item of list(node)) found.push([node, item]);
        return found;
      } catch (error) {
        // What is on it is left as it is until it answers again.
        log.warn('a node could not list what it has', { node: node.name, error });
        return [];
      }
    });
    for (const found of lists) yield* found;
  }

  /** Whether the record of a snapshot names another node, or none. */
  const isElsewhere = async (id: string, name: string): Promise<boolean> => {
    if (isBeingFetched?.(id) !== false) return false;
    const row = await findSnapshot(id);
    return row?.node === null ? row.state === 'ready' : row !== undefined && row.node !== name;
  };
  const removeMoved = async ({ name, runtime }: ReachableNode, id: string): Promise<void> => {
    log.info('removing a snapshot that has moved to another node', { snapshotId: id, node: name });
    await runtime.snapshots
      .delete(id)
      .catch((error: unknown) => log.warn('a snapshot could not be removed', { snapshotId: id, error }));
  };

  const ofOrigin = (origin: TreeOrigin): Promise<ReachableNode | undefined> => {
    if ('rootfs' in origin) return Promise.resolve(undefined);
    return 'snapshot' in origin ? ofSnapshot(origin.snapshot) : ofSandbox(origin.instance);
  };

  return {
    name: 'nodes',
    features,
    nodeOfBuild: (id) => building.get(id),
    nodeOf: (instance) => homes.get(instance) ?? null,
    create: async (spec, options) => {
      const { id } = spec;
      const placed = await locateSandbox(id);
      const node = placed === undefined ? await placeBuild(spec) : requireNode(placed, `sandbox ${id}`);
      const own = await toOrigin(spec, node);
      if (placed === undefined) building.set(id, node.name);
      try {
        return wrap(node.name, await namingNode(node.name, node.runtime.create(own, options)));
      } catch (error) {
        // When the node was lost the sandbox may be there.
        if (!(error instanceof NodeUnreachableError)) building.delete(id);
        if ('rootfs' in spec) images.doubt(spec.rootfs, node);
        throw error;
      }
    },
    get: async (id) => {
      const node = await ofSandbox(id);
      return wrap(node.name, await namingNode(node.name, node.runtime.get(id)));
    },
    list: async function* (): AsyncGenerator<Instance> {
      for await (const [{ name }, instance] of each(({ runtime }) => runtime.list()))
        yield wrap(name, instance);
    },
    snapshots: {
      list: async function* () {
        listed.clear();
        for await (const [node, snapshot] of each(({ runtime }) => runtime.snapshots.list())) {
          const { name } = node;
          if (await isElsewhere(snapshot.id, name)) {
            await removeMoved(node, snapshot.id);
            continue;
          }
          listed.set(snapshot.id, name);
          yield snapshot;
        }
      },
      verify: async (id) => {
        const { name, runtime } = await ofSnapshot(id);
        return namingNode(name, runtime.snapshots.verify(id));
      },
      diff: async function* (from, to, options) {
        const [first, second] = [await ofOrigin(from), await ofOrigin(to)];
        const node = first ?? second;
        if (node === undefined) throw new RuntimeError('unsupported', 'the two are the same image');
        if (second !== undefined && second.name !== node.name)
          throw new RuntimeError(
            'unsupported',
            `the two are on different nodes, ${node.name} and ${second.name}`,
          );
        const origins = [await toOrigin(from, node), await toOrigin(to, node)] as const;
        yield* node.runtime.snapshots.diff(...origins, options);
      },
      exportImage: async (id, how) => {
        const node = await ofSnapshot(id);
        return exportFrom(node, how, (to) => node.runtime.snapshots.exportImage(id, to));
      },
      delete: async (id) => {
        const home = (await locateSnapshot(id)) ?? listed.get(id);
        // The blob store had it only: another part of the server removes that.
        if (home === undefined && (await findSnapshot(id)) !== undefined) return;
        const { name, runtime } = requireNode(home, `snapshot ${id}`);
        await namingNode(name, runtime.snapshots.delete(id));
      },
    },
    close: async () => {},
  };
};
