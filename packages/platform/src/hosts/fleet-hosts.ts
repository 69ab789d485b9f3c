import { ApiError } from '@skerry/contract/error';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { type Runtime, RuntimeError, type TreeOrigin } from '@skerry/runtime';
import type { Log } from '../log.ts';
import { notOwner } from '../store/leases/fence.ts';
import type { NodePlace, SnapshotRow } from '../store/rows.ts';
import { askNodes } from './ask-nodes.ts';
import type { CopiedOrigins } from './copied-origins.ts';
import type { CopyNode } from './copies.ts';
import { baseOfNode, type FleetImages, isImageOfNodes } from './fleet-images.ts';
import type { Host, HostedInstance, HostedSnapshot, Hosts } from './hosts.ts';
import { toNodeRuntime } from './node-runtime.ts';
import { NodeUnreachableError, namingNode } from './unreachable.ts';

/** A node that answers now. */
export interface ReachableNode extends CopyNode {
  runtime: Runtime;
}

export interface FleetHostsOptions {
  /** The nodes that answer now. */
  reachable(): ReachableNode[];
  /** Whether this server acts for what is on a node. */
  owns(node: string): boolean;
  /** The place of what is on a node already. Throws until what is there agrees with the records. */
  roomOf(node: string): NodePlace;
  /** The record of a snapshot. On no node it is in the blob store only. */
  findSnapshot(id: string): Promise<Pick<SnapshotRow, 'node' | 'state'> | undefined>;
  /** The node that builds templates now. Throws `ApiError` when none can. */
  builder(isolation?: IsolationLevel): ReachableNode;
  images: FleetImages;
  /** Where there is a blob store. */
  origins: Pick<CopiedOrigins, 'bring'> | undefined;
  /** Whether a snapshot is on its way to a node; undefined where none ever moves. */
  isBeingFetched?: ((id: string) => boolean) | undefined;
  log: Log;
}

/** The nodes as hosts. Lists leave out a node that does not answer. */
export interface FleetHosts
  extends Pick<Hosts, 'of' | 'ofSnapshot' | 'forBuild' | 'reachable' | 'instances' | 'snapshots'> {
  /** A node that answers, as the host of what is placed there. */
  toPlaced(place: NodePlace): Host;
}

export const createFleetHosts = (options: FleetHostsOptions): FleetHosts => {
  const { reachable, images, findSnapshot, log } = options;
  const find = (name: string): ReachableNode | undefined => reachable().find((node) => node.name === name);
  const require = (name: string): ReachableNode => {
    const node = find(name);
    if (node === undefined) throw new NodeUnreachableError(name);
    return node;
  };

  const toRootfs = async (rootfs: string, node: ReachableNode): Promise<string> => {
    if (isImageOfNodes(rootfs)) return images.toNodePath(rootfs, node);
    if (rootfs === baseOfNode) return node.baseRootfs;
    throw new RuntimeError('unsupported', 'this is no image of a template on nodes');
  };

  const toHost = (node: ReachableNode, room: Host['room'] = () => options.roomOf(node.name)): Host => {
    const { name } = node;
    const { templates } = node.images;
    return {
      node: name,
      runtime: toNodeRuntime(name, node.runtime, {
        isUp: () => find(name) !== undefined,
        onRefused: (rootfs) => images.doubt(rootfs, node),
      }),
      images: {
        toUnfinished: templates.toUnfinished,
        keep: async (image) => {
          await namingNode(name, templates.keep(image));
          images.noteKept(image.digest, name);
        },
      },
      prepare: async (origin, { signal } = {}) => {
        if ('snapshot' in origin) await options.origins?.bring(origin.snapshot, name, { signal });
        return 'rootfs' in origin
          ? { ...origin, rootfs: await toRootfs(origin.rootfs, require(name)) }
          : origin;
      },
      room,
    };
  };

  const of: Hosts['of'] = (name) => {
    if (name === null) throw new RuntimeError('not_found', 'it is on no node');
    if (!options.owns(name)) throw notOwner(name);
    return toHost(require(name));
  };

  async function* each<T>(
    list: (runtime: Runtime) => AsyncIterable<T>,
  ): AsyncGenerator<{ host: Host; item: T }> {
    const lists = await askNodes(
      reachable().map((node) => ({ name: node.name, host: toHost(node) })),
      async ({ name, host }) => {
        const found: { host: Host; item: T }[] = [];
        try {
          for await (const item of list(host.runtime)) found.push({ host, item });
          return found;
        } catch (error) {
          // What is on it is left as it is until it answers again.
          log.warn('a node could not list what it has', { node: name, error });
          return [];
        }
      },
    );
    for (const found of lists) yield* found;
  }

  /** Whether the record of a snapshot names another node, or none. */
  const isElsewhere = async (id: string, name: string | null): Promise<boolean> => {
    if (options.isBeingFetched?.(id) !== false) return false;
    const row = await findSnapshot(id);
    return row?.node === null ? row.state === 'ready' : row !== undefined && row.node !== name;
  };
  const removeMoved = async ({ node, runtime }: Host, id: string): Promise<void> => {
    log.info('removing a snapshot that has moved to another node', { snapshotId: id, node });
    await runtime.snapshots
      .delete(id)
      .catch((error: unknown) => log.warn('a snapshot could not be removed', { snapshotId: id, error }));
  };

  return {
    of,
    toPlaced: (place) => toHost(require(place.node), () => place),
    ofSnapshot: async (id) => {
      const row = await findSnapshot(id);
      if (row?.state === 'ready' && row.node === null)
        throw new ApiError(
          'unavailable',
          'the snapshot is in the blob store only: create a sandbox that begins with it first',
        );
      return of(row?.node ?? null);
    },
    forBuild: async (origin: TreeOrigin, isolation?: IsolationLevel) => {
      if (!('snapshot' in origin)) return toHost(options.builder(isolation));
      const node = find((await findSnapshot(origin.snapshot))?.node ?? '');
      // The cache of builds runs the steps again after this error.
      if (node === undefined)
        throw new RuntimeError('not_found', `snapshot ${origin.snapshot} is on no node that answers`);
      return toHost(node);
    },
    reachable: () => reachable().map((node) => toHost(node)),
    instances: async function* (): AsyncGenerator<HostedInstance> {
      for await (const { host, item } of each((runtime) => runtime.list())) yield { host, instance: item };
    },
    snapshots: async function* (): AsyncGenerator<HostedSnapshot> {
      for await (const { host, item } of each((runtime) => runtime.snapshots.list())) {
        if (await isElsewhere(item.id, host.node)) await removeMoved(host, item.id);
        else yield { host, snapshot: item };
      }
    },
  };
};
