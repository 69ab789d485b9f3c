import { ApiError, conflict, notFound } from '@skerry/contract/error';
import type { Instance, Runtime } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { NodeLoad, NodeRow } from '../store/nodes/node-store.ts';
import type { NodePlace, Store } from '../store/store.ts';
import type { InstallationImage, TemplateImages } from '../templates/template-images.ts';
import { createTurns } from '../turns.ts';
import { createCommonFeatures } from './common-features.ts';
import { type Copies, createCopies } from './copies.ts';
import { createFleetImages, isImageOfNodes } from './fleet-images.ts';
import { baseOfNode, createFleetRuntime, type ReachableNode } from './fleet-runtime.ts';
import { type ConnectNode, createMember, type Member, type MemberHooks } from './member.ts';
import { type Candidate, noPlace, type Placement, rankPlaces } from './placement.ts';
import { NodeUnreachableError } from './unreachable.ts';

/** A node of the list with which the server was started. */
export interface ListedNode {
  name: string;
  /** `host:port` */
  address: string;
}

export interface NodesOptions {
  listed: readonly ListedNode[];
  connect: ConnectNode;
  store: Store;
  clock: Clock;
  log: Log;
  /** How long a node may not answer before what runs on it is lost. */
  deadMs: number;
  /** Removes a snapshot from the blob store, where there is one. */
  removeCopy?: Copies['remove'] | undefined;
}

/** A node as callers see it. */
export interface NodeView extends NodeRow {
  state: 'ready' | 'settling' | 'unreachable' | 'lost' | 'unlisted';
  /** Why it cannot be reached. */
  problem: string | undefined;
  version: string | undefined;
  room: { sandboxes: number; memoryMb: number } | undefined;
  load: Omit<NodeLoad, 'name'>;
}

/** The machines on which a server without sandboxes of its own has them. */
export interface Nodes {
  readonly runtime: Runtime;
  readonly placement: Placement;
  /** The image of the base template, of which each node has one, and those of others, which are where they were needed. */
  readonly images: { base: InstallationImage; templates: TemplateImages };
  /** The node of a sandbox of a build that this process runs. */
  nodeOfBuild(id: string): string | undefined;
  /** The node of an instance of the runtime. */
  nodeOf(instance: Instance): string | null;
  /** Where there is a blob store. */
  readonly copies: Copies | undefined;
  isCordoned(node: string | null): boolean;
  /** False while the node of a record does not answer: nothing can be found out about what is on it. */
  canReach(node: string | null): boolean;
  /** Claims every listed node and connects to it. Resolves when each is ready, or could not be reached at first. */
  start(hooks: MemberHooks): Promise<void>;
  list(): Promise<NodeView[]>;
  /** Rejects with `not_found`. */
  setCordoned(name: string, cordoned: boolean): Promise<NodeView>;
  /**
   * Deletes the record of a node that does not answer, and of its sandboxes, which `close` ends without it. This server does not
   * connect to it again. Rejects with `not_found`, and with `conflict` for a node that answers or has snapshots.
   */
  forget(name: string, close: (node: string) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

const noLoad = { placed: 0, memoryMb: 0, others: 0, snapshots: 0 };
const MIB = 2 ** 20;

/** Serves a fixed list of nodes. Connects to none before `start`. */
export const createNodes = (options: NodesOptions): Nodes => {
  const { listed, store, log } = options;
  const members = new Map<string, Member>();
  /** By name, as last read or written. */
  const cordoned = new Set<string>();
  const turns = createTurns(1);
  const never = new AbortController().signal;

  const reachable = (): ReachableNode[] =>
    [...members.values()].flatMap(({ name, isUp, runtime, images, snapshots, description }) =>
      isUp && runtime && images && description
        ? [
            {
              ...{ name, runtime, images, snapshots },
              baseRootfs: description.base.rootfs,
              baseDigest: description.base.digest,
            },
          ]
        : [],
    );
  const features = createCommonFeatures(() =>
    [...members.values()].flatMap(({ runtime }) => (runtime ? [runtime.features] : [])),
  );

  const toObstacle = ({ name, isUp, isReady, runtime }: Member): string | undefined => {
    if (!isUp || !runtime) return 'cannot be reached';
    if (cordoned.has(name)) return 'is cordoned';
    if (runtime.features.level !== features.level) return `has isolation level ${runtime.features.level}`;
    return isReady ? undefined : 'has just come back';
  };
  const toRoom = ({ description }: Member) => ({
    sandboxes: description?.room.sandboxes ?? 0,
    memoryMb: Math.floor((description?.room.memoryBytes ?? 0) / MIB),
  });

  const placement: Placement = {
    reserve: (request, attempt) =>
      turns.take(async () => {
        const candidates: Candidate[] = [...members.values()].map((member) => ({
          name: member.name,
          obstacle: toObstacle(member),
          room: toRoom(member),
        }));
        const { places, obstacles } = rankPlaces(candidates, await store.measureNodes(), request);
        for (const place of places) {
          const result = await attempt(place);
          if (result !== 'node_full') return result;
          obstacles.push(`${place.node} is full`);
        }
        throw noPlace(request, obstacles);
      }, never),
    provide: async (id, origin) => {
      if (!('rootfs' in origin) || !isImageOfNodes(origin.rootfs)) return;
      const name = (await store.findSandbox(id))?.node ?? '';
      const node = reachable().find((one) => one.name === name);
      if (node === undefined) throw new NodeUnreachableError(name);
      await images.toNodePath(origin.rootfs, node);
    },
    on: (node): NodePlace => {
      const member = members.get(node ?? '');
      if (!member?.isUp) throw new NodeUnreachableError(node ?? '');
      if (!member.isReady)
        throw new ApiError('unavailable', `node "${member.name}" has just come back: try again in a moment`, {
          reason: 'sandbox_capacity_unavailable',
        });
      return { node: member.name, maxActive: toRoom(member).sandboxes };
    },
  };

  const toView = (row: NodeRow, loads: readonly NodeLoad[]): NodeView => {
    const member = members.get(row.name);
    const { name: _name, ...load } = loads.find(({ name }) => name === row.name) ?? { name: '', ...noLoad };
    return {
      ...row,
      state: toState(row, member),
      problem: member?.problem,
      version: member?.description?.version,
      room: member?.description && toRoom(member),
      load,
    };
  };

  let lastBuilder: string | undefined;
  /** The same as long as it can: what builds keep for later ones is there. */
  const builder = (): ReachableNode => {
    const all = [...members.values()].map((member) => ({ member, obstacle: toObstacle(member) }));
    const able = all.filter(({ obstacle }) => obstacle === undefined).map(({ member }) => member.name);
    lastBuilder = able.find((name) => name === lastBuilder) ?? able.toSorted()[0];
    const found = reachable().find(({ name }) => name === lastBuilder);
    if (found) return found;
    const reasons = all.map(({ member, obstacle }) => `${member.name} ${obstacle ?? 'is not ready'}`);
    throw new ApiError('unavailable', `no node can build templates now: ${reasons.join(', ')}`, {
      reason: 'sandbox_capacity_unavailable',
    });
  };
  const images = createFleetImages({ ...options, reachable, builder });
  const copies = options.removeCopy && createCopies({ reachable, images, remove: options.removeCopy });
  const runtime = createFleetRuntime({
    reachable,
    locateSandbox: async (id) => (await store.findSandbox(id))?.node ?? undefined,
    locateSnapshot: async (id) => (await store.findSnapshotRow(id))?.node ?? undefined,
    builder,
    images,
    isBeingFetched: copies?.isBeingFetched,
    features,
    log,
  });

  const view = async (row: NodeRow): Promise<NodeView> => toView(row, await store.measureNodes());

  return {
    runtime,
    placement,
    images: { base: { rootfs: baseOfNode }, templates: images.templates },
    nodeOfBuild: runtime.nodeOfBuild,
    nodeOf: runtime.nodeOf,
    copies,
    isCordoned: (node) => node !== null && cordoned.has(node),
    canReach: (node) => node === null || members.get(node)?.isUp === true,
    start: async (hooks) => {
      for (const node of listed) {
        const row = await store.claimNode(node);
        if (row.cordoned) cordoned.add(row.name);
        members.set(row.name, createMember({ ...options, ...hooks, row }));
      }
      await Promise.all([...members.values()].map(({ settled }) => settled));
    },
    list: async () => {
      const loads = await store.measureNodes();
      return (await store.listNodes()).map((row) => toView(row, loads));
    },
    setCordoned: async (name, isCordoned) => {
      const row = await store.setCordoned(name, isCordoned);
      if (row === undefined) throw unknownNode(name);
      if (isCordoned) cordoned.add(name);
      else cordoned.delete(name);
      return view(row);
    },
    forget: async (name, close) => {
      const member = members.get(name);
      if (member?.isUp) throw conflict(`node "${name}" answers: stop it before you forget it`);
      const row = (await store.listNodes()).find((one) => one.name === name);
      if (row === undefined) throw unknownNode(name);
      const { load } = await view(row);
      if (load.snapshots > 0)
        throw conflict(
          `node "${name}" has ${load.snapshots} snapshots: delete their templates, and what the cache of builds has, first`,
        );
      await member?.close();
      members.delete(name);
      cordoned.delete(name);
      // What is in the blob store too is not lost with the node.
      await store.detachNode(name);
      await close(name);
      const outcome = await store.forgetNode(name);
      if (outcome === 'in_use') throw conflict(`node "${name}" is still in use: try again`);
    },
    close: async () => {
      await Promise.all([...members.values()].map((member) => member.close()));
    },
  };
};

const toState = (row: NodeRow, member: Member | undefined): NodeView['state'] => {
  if (member === undefined) return 'unlisted';
  if (member.isUp) return member.isReady ? 'ready' : 'settling';
  return row.lostAt === null ? 'unreachable' : 'lost';
};

const unknownNode = (name: string) => notFound(`node "${name}" was not found`);
