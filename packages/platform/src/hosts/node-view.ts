import type { NodeRow, NodeStatus } from '../store/nodes/node-rows.ts';
import type { ReachableNode } from './fleet-hosts.ts';
import { SPARE_MEMORY, type WarmRoom } from './hosts.ts';
import type { Member } from './member.ts';
import type { NodeView } from './node-list.ts';
import type { OwnedRow } from './other-nodes.ts';

export const noLoad: NodeView['load'] = { placed: 0, memoryMb: 0, others: 0, snapshots: 0 };
const MIB = 2 ** 20;
/** The used memory of a node is recorded in this number of steps, so that only large changes are written. */
const USE_STEPS = 20;

export const toRoom = ({ description }: Member) => ({
  sandboxes: description?.room.sandboxes ?? 0,
  memoryMb: Math.floor((description?.room.memoryBytes ?? 0) / MIB),
});

/** What programs of its machine cannot get, as it has said last. */
export const toUsedMemoryMb = ({ description }: Member): number =>
  Math.ceil((description?.usedMemoryBytes ?? 0) / MIB);

/** Returns the used memory as it is recorded for the other servers, rounded to a step. */
const toRecordedUse = (member: Member): number => {
  const stepMb = toRoom(member).memoryMb / USE_STEPS;
  return stepMb === 0 ? 0 : Math.round(Math.round(toUsedMemoryMb(member) / stepMb) * stepMb);
};

const toMemberState = ({ isUp, isReady }: Member): NodeStatus['state'] => {
  if (!isUp) return 'unreachable';
  return isReady ? 'ready' : 'settling';
};

/** The state of a node whose member is of this server. */
export const toState = (row: NodeRow, member: Member | undefined): NodeView['state'] => {
  if (member === undefined) return 'unlisted';
  if (member.isUp) return toMemberState(member);
  return row.lostAt === null ? 'unreachable' : 'lost';
};

/** Whether instances may be started there in advance. `obstacle` is why it takes no sandboxes. */
export const toWarmRoom = (member: Member, obstacle: string | undefined): WarmRoom => {
  if (!member.isReady) return 'unknown';
  const isShort = toUsedMemoryMb(member) > (1 - SPARE_MEMORY) * toRoom(member).memoryMb;
  return obstacle !== undefined || isShort ? 'short' : 'free';
};

/**
 * Whether this server has found the sandboxes of a node that it owns, or knows that it cannot: until then they are reached as those of
 * other servers are.
 */
export const isSettled = (member: Member | undefined): boolean =>
  member !== undefined && (member.isUp ? member.isReady : member.problem !== undefined);

/** What the other servers get to know of it. */
export const toStatus = (member: Member): NodeStatus => ({
  state: toMemberState(member),
  problem: member.problem,
  version: member.description?.version,
  room: member.description && toRoom(member),
  usedMemoryMb: toRecordedUse(member),
  features: member.runtime?.features,
});

/** The node of a member as the runtime uses it; none while it does not answer. */
export const toReachable = (member: Member): ReachableNode[] => {
  const { name, isUp, runtime, images, snapshots, description } = member;
  if (!isUp || !runtime || !images || !description) return [];
  const { rootfs: baseRootfs, digest: baseDigest } = description.base;
  return [{ name, runtime, images, snapshots, baseRootfs, baseDigest }];
};

/** A node of another server, as that has recorded it. */
export const toOtherView = ({ row, lease }: OwnedRow, unschedulable: boolean): NodeView => {
  const { state = 'unreachable', problem, version, room } = row.status ?? {};
  const isLost = row.lostAt !== null && state === 'unreachable';
  return {
    ...row,
    ...(lease === undefined
      ? { state: 'unreachable', problem: 'no server has taken it over yet' }
      : { state: isLost ? 'lost' : state, problem }),
    ...{ version, room, load: noLoad, unschedulable },
  };
};
