import { ApiError } from '@skerry/contract/error';
import type { IsolationLevel } from '@skerry/contract/isolation';
import type { InstallationImage, TemplateImages } from '../images/template-images.ts';
import type { NodeRow } from '../store/nodes/node-rows.ts';
import type { NodePlace } from '../store/rows.ts';
import { createBuildNode } from './build-node.ts';
import { createCommonFeatures } from './common-features.ts';
import { createCopiedOrigins } from './copied-origins.ts';
import { createCopies, openStoredImage } from './copies.ts';
import { createFleetHosts, type ReachableNode } from './fleet-hosts.ts';
import { baseOfNode, createFleetImages } from './fleet-images.ts';
import { createNodeList } from './fleet-list.ts';
import type { FleetOptions } from './fleet-options.ts';
import type { Hosts, HostsHooks } from './hosts.ts';
import { createMember, type Member } from './member.ts';
import { createFollower } from './membership/follow.ts';
import { isSettled, toReachable, toRoom, toStatus, toUsedMemoryMb, toWarmRoom } from './node-view.ts';
import { createOtherNodes, type Replica, toImageSources } from './other-nodes.ts';
import { createOwnership, type Ownership } from './ownership.ts';
import { createPlacement } from './placement/placement.ts';
import type { Candidate } from './placement/rank-places.ts';
import { NodeUnreachableError } from './unreachable.ts';

/** The machines on which a server without sandboxes of its own has them. */
export interface Fleet extends Hosts {
  /** The image of the base template, of which each node has one, and those of others, which are where they were needed. */
  readonly images: { base: InstallationImage; templates: TemplateImages };
}

/** Serves the nodes of a membership. Connects to none before `start`. */
export const createFleet = (options: FleetOptions): Fleet => {
  const { membership, store, log, blobs, replica } = options;
  let ownership: Ownership | undefined;
  const owns = (node: string | null): boolean =>
    node === null || replica === undefined || ownership?.owns(node) === true;
  const others =
    replica && createOtherNodes(store, { owner: replica.owner, owns, isCordoned: membership.isCordoned });
  const members = new Map<string, Member>();
  /** The names of cordoned nodes, as last read from the database or written to it. */
  const cordoned = new Set<string>();
  let stopFollowing = async (): Promise<void> => {};

  const reachable = (): ReachableNode[] => [...members.values()].flatMap(toReachable);
  const isCordoned = (node: string | null): boolean =>
    node !== null && (cordoned.has(node) || membership.isCordoned(node));
  const canReach = (node: string | null): boolean => node === null || members.get(node)?.isUp === true;
  const features = createCommonFeatures(() => [
    ...[...members.values()].flatMap(({ runtime }) => (runtime ? [runtime.features] : [])),
    ...(others?.features() ?? []),
  ]);

  /**
   * Returns the reason why no new sandbox of that level is placed on a node; undefined when there is none.
   */
  const toObstacle = (
    { name, isUp, isReady, runtime }: Member,
    level: IsolationLevel,
  ): string | undefined => {
    if (!isUp || !runtime) return 'cannot be reached';
    if (cordoned.has(name)) return 'is cordoned';
    if (membership.isCordoned(name)) return 'is cordoned by the cluster';
    if (runtime.features.levels[level] === undefined) return `has no isolation level ${level}`;
    return isReady ? undefined : 'has just come back';
  };

  const toCandidates = (level: IsolationLevel): Candidate[] =>
    [...members.values()].map((member) => ({
      name: member.name,
      obstacle: toObstacle(member, level),
      room: toRoom(member),
      usedMemoryMb: toUsedMemoryMb(member),
    }));

  const roomOf = (node: string): NodePlace => {
    const member = members.get(node);
    if (!member?.isUp) throw new NodeUnreachableError(node);
    if (!member.isReady)
      throw new ApiError('unavailable', `node "${node}" has just come back: try again in a moment`, {
        reason: 'sandbox_capacity_unavailable',
      });
    return { node, maxActive: toRoom(member).sandboxes };
  };

  let onCordon = (): void => {};
  const noteCordon = ({ name, cordoned: isCordoned }: NodeRow): void => {
    if (isCordoned === cordoned.has(name)) return;
    if (isCordoned) cordoned.add(name);
    else cordoned.delete(name);
    onCordon();
  };

  /** The last recorded status of each node. */
  const recorded = new Map<string, string>();
  const recordStatus = async (member: Member): Promise<void> => {
    const status = toStatus(member);
    const text = JSON.stringify(status);
    if (recorded.get(member.name) === text) return;
    await store.noteNodeStatus(member.name, status);
    recorded.set(member.name, text);
  };

  const openMember = (row: NodeRow, hooks: HostsHooks): Member => {
    noteCordon(row);
    const member = createMember({ ...options, ...hooks, row });
    members.set(row.name, member);
    return member;
  };

  const builder = createBuildNode({
    candidates: (isolation = features.level) => toCandidates(isolation),
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
  const rootfsOf = async ({ buildId }: { buildId: string | null }): Promise<string> => {
    const image = buildId === null ? null : (await store.findBuild(buildId))?.image;
    return image == null ? baseOfNode : images.templates.toPath(image);
  };
  const takesNew = async (node: string): Promise<boolean> =>
    !isCordoned(node) && (owns(node) ? canReach(node) : (await others?.mayAnswer(node)) === true);
  const origins = copies && createCopiedOrigins({ store, copies, takesNew, owns, rootfsOf });
  const { toPlaced, ...hosts } = createFleetHosts({
    ...{ reachable, owns, roomOf, builder, images, origins, log },
    findSnapshot: store.findSnapshotRow,
    isBeingFetched: copies?.isBeingFetched,
  });
  const placement = createPlacement({
    ...{ store, others, noteCordon },
    candidates: toCandidates,
    toHost: toPlaced,
  });
  const nodes = createNodeList({
    ...{ store, membership, members, others, owns, noteCordon },
    onForget: (name) => void cordoned.delete(name),
  });

  const startFollowing = async (hooks: HostsHooks): Promise<void> => {
    const follower = createFollower({
      ...{ ...options, nodes: membership.nodes },
      isCurrent: ({ name, address }) => {
        const member = members.get(name);
        // Where there are several servers, one of them claims a new node in its next round.
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

  const startReplica = async (given: Replica, hooks: HostsHooks): Promise<void> => {
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
    ...hosts,
    ...placement,
    features,
    images: { base: { rootfs: baseOfNode }, templates: images.templates },
    homeOf: async (snapshot, how) => (origins ? origins.homeOf(snapshot, how) : snapshot.node),
    canReach,
    isCordoned,
    warmRoomOf: (node) => {
      const member = members.get(node ?? '');
      if (member === undefined || !owns(node)) return 'unknown';
      return toWarmRoom(member, toObstacle(member, features.level));
    },
    owns,
    get owned() {
      return replica === undefined ? 'all' : (ownership?.nodes() ?? []);
    },
    get isBuilder() {
      return replica === undefined || ownership?.isBuilder === true;
    },
    servers: {
      serverOf: async (node) => (node === null ? undefined : others?.serverOf(node)),
      builder: async () => others?.builder(),
      openDoor: (name) => {
        const node = membership.nodes().find((one) => one.name === name);
        if (replica === undefined || node === undefined || (owns(name) && isSettled(members.get(name))))
          return undefined;
        return (...run) => replica.openDoor(node, ...run);
      },
    },
    nodes,
    copies,
    findMissing: async () => (ownership?.holdsLease() === false ? ['lease'] : []),
    start: async (hooks) => {
      onCordon = hooks.onCordon;
      await startFollowing(hooks);
      if (replica !== undefined) {
        await startReplica(replica, hooks);
        return;
      }
      await Promise.all([...members.values()].map(({ settled }) => settled));
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
