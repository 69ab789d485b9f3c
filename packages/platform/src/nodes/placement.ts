import { ApiError } from '@skerry/contract/error';
import type { InstanceOrigin } from '@skerry/runtime';
import type { NodeLoad } from '../store/nodes/node-store.ts';
import type { NodePlace } from '../store/store.ts';

/** What has to be placed. */
export interface PlacementRequest {
  memoryMb: number;
  /** The only node that has what it begins with; null: any. */
  node: string | null;
  /** The node that has what others would have to make first; null: none. */
  prefers?: string | null;
  /** Whether only nodes of this server may be chosen. Otherwise the call rejects with `ElsewhereError` when the best one is of another. */
  staysHere?: boolean;
  /** Nodes that have no capacity for it although they have room. */
  without?: readonly string[];
  /** Nodes that have refused it; the caller says why. */
  refusing?: readonly string[];
}

/** Chooses where sandboxes go. */
export interface Placement {
  /**
   * Calls `attempt` with the best place, then with the next one as long as it resolves with `node_full`, and resolves with its last
   * result; one request after the other, so that each sees what the one before has reserved. Rejects with `unavailable` when no node
   * can take the sandbox; the message says why for each.
   */
  reserve<T extends string>(
    request: PlacementRequest,
    attempt: (place: NodePlace | undefined) => Promise<T>,
  ): Promise<T>;
  /**
   * Resolves when the node of a reserved sandbox has the image that it begins with, which may be copied there first. Rejects with
   * `ApiError` or `RuntimeError` when that is not possible now.
   */
  provide(id: string, origin: InstanceOrigin): Promise<void>;
  /**
   * The place of what is on that node already. Throws `NodeUnreachableError` when the node does not answer, and `unavailable` until
   * what is there agrees with the records.
   */
  on(node: string | null): NodePlace | undefined;
}

/** For a server whose sandboxes are on its own machine: there is one place, without a limit of its own. */
export const localPlacement: Placement = {
  reserve: (_request, attempt) => attempt(undefined),
  provide: async () => {},
  on: () => undefined,
};

/** A node as placement sees it. */
export interface Candidate {
  name: string;
  /** Why it takes no sandbox now; undefined when it does. */
  obstacle: string | undefined;
  room: { sandboxes: number; memoryMb: number };
}

/**
 * The places for a request, best first: the preferred node unless its memory is all reserved, then that whose memory is reserved least with the sandbox on it, ties by
 * name. Also returns
 * why each other node is none.
 */
export const rankPlaces = (
  candidates: readonly Candidate[],
  loads: readonly NodeLoad[],
  { memoryMb, node, prefers = null, without = [], refusing = [] }: PlacementRequest,
): { places: NodePlace[]; obstacles: string[] } => {
  const obstacles: string[] = [];
  const ranked: Ranked[] = [];
  for (const { name, obstacle, room } of candidates) {
    if (node !== null && name !== node) continue;
    const load = loads.find((one) => one.name === name);
    const share = ((load?.memoryMb ?? 0) + memoryMb) / room.memoryMb;
    if (obstacle !== undefined) obstacles.push(`${name} ${obstacle}`);
    else if (without.includes(name)) obstacles.push(`${name} has no capacity`);
    else if (refusing.includes(name)) obstacles.push(`${name} has refused it`);
    else if ((load?.placed ?? 0) >= room.sandboxes) obstacles.push(`${name} is full`);
    else
      ranked.push({
        node: name,
        maxActive: room.sandboxes,
        share,
        isPreferred: name === prefers && share <= 1,
      });
  }
  ranked.sort(
    (a, b) =>
      Number(b.isPreferred) - Number(a.isPreferred) || a.share - b.share || (a.node < b.node ? -1 : 1),
  );
  const places = ranked.map((place) => ({
    node: place.node,
    maxActive: place.maxActive,
    reason: node === null ? describeChoice(place, ranked, obstacles) : 'what it begins with is there only',
  }));
  return { places, obstacles };
};

interface Ranked extends NodePlace {
  /** Of the memory of the node, with the sandbox. */
  share: number;
  isPreferred: boolean;
}

const describeChoice = (place: Ranked, ranked: readonly Ranked[], obstacles: readonly string[]): string => {
  const describe = ({ node, share }: Ranked): string => `${node} ${Math.ceil(share * 100)} %`;
  const why = place.isPreferred ? 'the checkpoint of its template is there' : 'its memory is reserved least';
  const others = ranked.filter((one) => one !== place).map(describe);
  return [`${why}: ${describe(place)} with the sandbox`, ...others, ...obstacles].join(', ');
};

/** 503 with the reason of each node. */
export const noPlace = ({ node }: PlacementRequest, obstacles: readonly string[]): ApiError => {
  const reasons = obstacles.length > 0 ? obstacles.join(', ') : 'the server has no such node';
  const message =
    node === null
      ? `no node can take the sandbox now: ${reasons}`
      : `what the sandbox begins with is on node "${node}" only: ${reasons}`;
  return new ApiError('unavailable', message, { reason: 'sandbox_capacity_unavailable' });
};
