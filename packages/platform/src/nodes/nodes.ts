import { ApiError, conflict, notFound } from '@skerry/contract/error';
import type { Features, Instance, Runtime } from '@skerry/runtime';
import type { StoragePlace } from '../storage/storage-places.ts';
import { notOwner } from '../store/leases/fence.ts';
import type { NodeLoad, NodeRow } from '../store/nodes/node-rows.ts';
import type { NodePlace } from '../store/rows.ts';
import type { InstallationImage, TemplateImages } from '../templates/template-images.ts';
import { createTurns } from '../turns.ts';
import type { WarmRoom } from '../warm/warm-pool.ts';
import { createBuildNode } from './build-node.ts';
import { createCommonFeatures } from './common-features.ts';
import { type Copies, createCopies, openStoredImage } from './copies.ts';
import { ElsewhereError } from './elsewhere.ts';
import { createFleetImages, isImageOfNodes } from './fleet-images.ts';
import { baseOfNode, createFleetRuntime, type ReachableNode } from './fleet-runtime.ts';
import { createMember, type Member, type MemberHooks } from './member.ts';
import { createFollower } from './membership/follow.ts';
import { toStoragePlace } from './node-storage.ts';
import {
  isSettled,
  type NodeView,
  noLoad,
  toOtherView,
  toReachable,
  toRoom,
  toState,
  toStatus,
  toUsedMemoryMb,
  toWarmRoom,
} from './node-view.ts';
import type { NodesHooks, NodesOptions } from './nodes-options.ts';
import {
  createOtherNodes,
  type OpenDoor,
  type OwnedRow,
  type Replica,
  toImageSources,
} from './other-nodes.ts';
import { createOwnership, type Ownership } from './ownership.ts';
import { noPlace, type Placement, type PlacementRequest } from './placement.ts';
import { type Candidate, rankPlaces } from './rank-places.ts';
import { NodeUnreachableError } from './unreachable.ts';

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
  /** Whether sandboxes may be started on a node in advance, or have to be stopped there. */
  warmRoomOf(node: string | null): WarmRoom;
  /** False while the node of a record does not answer this server: nothing can be found out about what is on it. */
  canReach(node: string | null): boolean;
  /** Whether a node answers its server, and is not cordoned. True for one whose server is not known now. */
  takesNew(node: string): Promise<boolean>;
  /** The disks of the nodes that answer now, as far as this server acts for them. */
  storagePlaces(): StoragePlace[];
  /** Whether other servers may act for some of the nodes. */
  readonly isShared: boolean;
  /** Whether this server acts for what is on a node. */
  owns(node: string | null): boolean;
  /** Those nodes; undefined: all, as there is no other server. */
  owned(): readonly string[] | undefined;
  /** The address of the server that does; undefined: it is this one. Rejects with `unavailable` when there is none now. */
  serverOf(node: string | null): Promise<string | undefined>;
  /** Whether this server builds templates. */
  readonly isBuilder: boolean;
  /** The address of the server that does, in the same way. */
  builder(): Promise<string | undefined>;
  /** Streams to sandboxes on a node for which this server does not act, or not yet; undefined for the others. */
  openDoor(node: string): OpenDoor | undefined;
  /** Claims its share of the listed nodes and connects to them. Resolves when each is ready, or could not be reached at first. */
  start(hooks: NodesHooks): Promise<void>;
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

/** Serves the nodes of a membership. Connects to none before `start`. */
export const createNodes = (options: NodesOptions): Nodes => {
  const { membership, store, log, blobs, replica } = options;
  let ownership: Ownership | undefined;
  const owns = (node: string | null): boolean =>
    node === null || replica === undefined || ownership?.owns(node) === true;
  const others =
    replica && createOtherNodes(store, { owner: replica.owner, owns, isCordoned: membership.isCordoned });
  const members = new Map<string, Member>();
  /** By name, as last read or written. */
  const cordoned = new Set<string>();
  let stopFollowing = async (): Promise<void> => {};
  const turns = createTurns(1);

  const reachable = (): ReachableNode[] => [...members.values()].flatMap(toReachable);
  const isCordoned = (node: string | null): boolean =>
    node !== null && (cordoned.has(node) || membership.isCordoned(node));
  const canReach = (node: string | null): boolean => node === null || members.get(node)?.isUp === true;
  const features = createCommonFeatures(() => [
    ...[...members.values()].flatMap(({ runtime }) => (runtime ? [runtime.features] : [])),
    ...(others?.features() ?? []),
  ]);

  /** With the level of all, which takes a look at each node. */
  const toObstacle = (
    { name, isUp, isReady, runtime }: Member,
    level: Features['level'],
  ): string | undefined => {
    if (!isUp || !runtime) return 'cannot be reached';
    if (cordoned.has(name)) return 'is cordoned';
    if (membership.isCordoned(name)) return 'is cordoned by the cluster';
    if (runtime.features.level !== level) return `has isolation level ${runtime.features.level}`;
    return isReady ? undefined : 'has just come back';
  };

  /** What the database says of the nodes: without other servers, nothing that this one does not know. */
  const readNodes = async ({ staysHere }: PlacementRequest): Promise<OwnedRow[]> => {
    if (others === undefined) return [];
    // Whose they are does not matter then.
    if (staysHere) return (await store.listNodes()).map((row) => ({ row, lease: undefined }));
    return others.read();
  };

  const placement: Placement = {
    reserve: (request, attempt) =>
      turns.take(async () => {
        const { level } = features;
        const [loads, nodes] = await Promise.all([store.measureNodes(), readNodes(request)]);
        for (const { row } of nodes) noteCordon(row);
        const elsewhere = request.staysHere ? [] : (others?.toCandidates(nodes, level) ?? []);
        const own: Candidate[] = [...members.values()].map((member) => ({
          name: member.name,
          obstacle: toObstacle(member, level),
          room: toRoom(member),
          usedMemoryMb: toUsedMemoryMb(member),
        }));
        const candidates = [...own, ...elsewhere];
        const { places, obstacles } = rankPlaces(candidates, loads, request);
        for (const place of places) {
          const other = elsewhere.find(({ name }) => name === place.node);
          if (other !== undefined) throw new ElsewhereError(other.server);
          const result = await attempt(place);
          if (result !== 'node_full') return result;
          obstacles.push(`${place.node} is full`);
        }
        throw noPlace(request, obstacles);
      }),
    provide: async (id, origin) => {
      if (!('rootfs' in origin) || !isImageOfNodes(origin.rootfs)) return;
      const name = (await store.findSandbox(id))?.node ?? '';
      const node = reachable().find((one) => one.name === name);
      if (node === undefined) throw new NodeUnreachableError(name);
      await images.toNodePath(origin.rootfs, node);
    },
    on: (node): NodePlace => {
      if (!owns(node)) throw notOwner(node ?? '');
      const member = members.get(node ?? '');
      if (!member?.isUp) throw new NodeUnreachableError(node ?? '');
      if (!member.isReady)
        throw new ApiError('unavailable', `node "${member.name}" has just come back: try again in a moment`, {
          reason: 'sandbox_capacity_unavailable',
        });
      return { node: member.name, maxActive: toRoom(member).sandboxes };
    },
  };

  let onCordon = (): void => {};
  const noteCordon = ({ name, cordoned: isCordoned }: NodeRow): void => {
    if (isCordoned === cordoned.has(name)) return;
    if (isCordoned) cordoned.add(name);
    else cordoned.delete(name);
    onCordon();
  };

  /** By node, what was recorded last. */
  const recorded = new Map<string, string>();
  const recordStatus = async (member: Member): Promise<void> => {
    const status = toStatus(member);
    const text = JSON.stringify(status);
    if (recorded.get(member.name) === text) return;
    await store.noteNodeStatus(member.name, status);
    recorded.set(member.name, text);
  };

  const openMember = (row: NodeRow, hooks: MemberHooks): Member => {
    noteCordon(row);
    const member = createMember({ ...options, ...hooks, row });
    members.set(row.name, member);
    return member;
  };

  const viewOther = (one: OwnedRow): NodeView | undefined => {
    const { name } = one.row;
    if (owns(name) || !membership.nodes().some((node) => node.name === name)) return undefined;
    return toOtherView(one, membership.isCordoned(name));
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
      unschedulable: membership.isCordoned(row.name),
    };
  };

  const builder = createBuildNode({
    candidates: () => {
      const { level } = features;
      return [...members.values()].map((member) => ({
        name: member.name,
        obstacle: toObstacle(member, level),
      }));
    },
    reachable,
  });
  const images = createFleetImages({
    ...options,
    reachable,
    builder,
    openCopy: blobs && ((digest) => openStoredImage(digest, { store, blobs })),
    others: () =>
      replica
        ? toImageSources(
            membership.nodes().filter(({ name }) => !owns(name)),
            replica,
          )
        : [],
  });
  const copies = blobs && createCopies({ reachable, images, blobs });
  const runtime = createFleetRuntime({
    reachable,
    locateSandbox: async (id) =>
      ((await store.findSandbox(id)) ?? (await store.findWarm(id)))?.node ?? undefined,
    findSnapshot: (id) => store.findSnapshotRow(id),
    builder,
    images,
    isBeingFetched: copies?.isBeingFetched,
    features,
    log,
  });

  const list = async (): Promise<NodeView[]> => {
    const loads = await store.measureNodes();
    const all = await (others?.read() ?? (await store.listNodes()).map((row) => ({ row, lease: undefined })));
    return all.map((one) => {
      const { load, ...own } = toView(one.row, loads);
      const { lease } = one;
      const owner = lease && { address: lease.address, leaseAgeMs: lease.ageMs };
      return { ...own, ...(others && viewOther(one)), load, owner };
    });
  };
  const requireView = async (name: string): Promise<NodeView> => {
    const view = (await list()).find((one) => one.name === name);
    if (view === undefined) throw unknownNode(name);
    return view;
  };

  const startFollowing = async (hooks: NodesHooks): Promise<void> => {
    const follower = createFollower({
      ...{ ...options, nodes: membership.nodes },
      isCurrent: ({ name, address }) => {
        const member = members.get(name);
        // Of several servers, one takes a new node with its next round.
        return member === undefined ? replica !== undefined : member.address === address;
      },
      open: async (node) => {
        const member = members.get(node.name);
        const row = await (replica ? store.claimNode(node, replica) : store.claimNode(node));
        if (row === undefined) return;
        if (member !== undefined) hooks.leave(node.name);
        await member?.close();
        openMember(row, hooks);
      },
    });
    stopFollowing = follower.close;
    await membership.start({ recorded: await store.listNodes(), onChange: follower.followLater });
    if (replica === undefined) await follower.follow();
  };

  const startReplica = async (given: Replica, hooks: NodesHooks): Promise<void> => {
    ownership = createOwnership({
      ...{ ...options, listed: membership.nodes, holder: given, isIdle: hooks.isIdle },
      onGain: (row) => void openMember(row, hooks),
      onLose: async (name) => {
        const member = members.get(name);
        members.delete(name);
        recorded.delete(name);
        hooks.leave(name);
        await member?.close();
      },
      onRound: async () => {
        for (const { row } of (await others?.read()) ?? []) noteCordon(row);
        for (const member of members.values()) if (owns(member.name)) await recordStatus(member);
        await hooks.check();
      },
    });
    await ownership.start();
    const gained = [...members.values()];
    await Promise.all(gained.map(({ settled }) => settled));
    for (const member of gained) if (owns(member.name)) await recordStatus(member);
  };

  return {
    runtime,
    placement,
    images: { base: { rootfs: baseOfNode }, templates: images.templates },
    nodeOfBuild: runtime.nodeOfBuild,
    nodeOf: runtime.nodeOf,
    copies,
    warmRoomOf: (node) => {
      const member = members.get(node ?? '');
      if (member === undefined || !owns(node)) return 'unknown';
      return toWarmRoom(member, toObstacle(member, features.level));
    },
    isCordoned,
    canReach,
    takesNew: async (node) =>
      !isCordoned(node) && (owns(node) ? canReach(node) : (await others?.mayAnswer(node)) === true),
    storagePlaces: () => [...members.values()].filter(({ isUp }) => isUp).flatMap(toStoragePlace),
    isShared: replica !== undefined,
    owns,
    owned: () => (replica === undefined ? undefined : (ownership?.nodes() ?? [])),
    serverOf: async (node) => (node === null ? undefined : others?.serverOf(node)),
    get isBuilder() {
      return replica === undefined || ownership?.isBuilder === true;
    },
    builder: async () => others?.builder(),
    openDoor: (name) => {
      const node = membership.nodes().find((one) => one.name === name);
      if (replica === undefined || node === undefined || (owns(name) && isSettled(members.get(name))))
        return undefined;
      return (...run) => replica.openDoor(node, ...run);
    },
    start: async (hooks) => {
      onCordon = hooks.onCordon;
      await startFollowing(hooks);
      if (replica !== undefined) {
        await startReplica(replica, hooks);
        return;
      }
      await Promise.all([...members.values()].map(({ settled }) => settled));
    },
    list,
    setCordoned: async (name, isCordoned) => {
      const row = await store.setCordoned(name, isCordoned);
      if (row === undefined) throw unknownNode(name);
      noteCordon(row);
      return requireView(name);
    },
    forget: async (name, close) => {
      const member = members.get(name);
      if (member?.isUp) throw conflict(`node "${name}" answers: stop it before you forget it`);
      await requireView(name);
      // What is in the blob store too is not lost with the node.
      await store.detachNode(name);
      const { load } = await requireView(name);
      if (load.snapshots > 0)
        throw conflict(
          `node "${name}" has ${load.snapshots} snapshots that are nowhere else: delete their templates, and what the cache of builds has, first`,
        );
      await member?.close();
      members.delete(name);
      cordoned.delete(name);
      membership.forget(name);
      await close(name);
      const outcome = await store.forgetNode(name);
      if (outcome === 'in_use') throw conflict(`node "${name}" is still in use: try again`);
    },
    close: async () => {
      await membership.close();
      await stopFollowing();
      await ownership?.stop();
      await Promise.all([...members.values()].map((member) => member.close()));
      await ownership?.close();
    },
  };
};

const unknownNode = (name: string) => notFound(`node "${name}" was not found`);
