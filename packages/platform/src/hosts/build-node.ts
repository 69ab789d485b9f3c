import { ApiError } from '@skerry/contract/error';
import type { IsolationLevel } from '@skerry/contract/isolation';
import type { ReachableNode } from './fleet-hosts.ts';

/** A node of this server, as the choice sees it. */
export interface BuildCandidate {
  name: string;
  /** The reason why no new sandbox is placed on the node; undefined: new sandboxes are placed there. */
  obstacle: string | undefined;
}

/**
 * Chooses the node of builds: the same as long as it can, since what builds keep for later ones is there. The returned function throws
 * `unavailable`, with the reason of each node, when none can have it.
 */
export const createBuildNode = ({
  candidates,
  reachable,
}: {
  /** Returns the nodes as those of new sandboxes of that level, by default of the default level. */
  candidates(isolation: IsolationLevel | undefined): readonly BuildCandidate[];
  /** The nodes that answer now. */
  reachable(): readonly ReachableNode[];
}): ((isolation?: IsolationLevel) => ReachableNode) => {
  let last: string | undefined;
  return (isolation) => {
    const all = candidates(isolation);
    const able = all.filter(({ obstacle }) => obstacle === undefined).map(({ name }) => name);
    last = able.find((name) => name === last) ?? able.toSorted()[0];
    const found = reachable().find(({ name }) => name === last);
    if (found) return found;
    const reasons = all.map(({ name, obstacle }) => `${name} ${obstacle ?? 'is not ready'}`);
    throw new ApiError('unavailable', `no node can build templates now: ${reasons.join(', ')}`, {
      reason: 'sandbox_capacity_unavailable',
    });
  };
};
