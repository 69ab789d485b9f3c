import { ApiError } from '@skerry/contract/error';
import type { InstanceOrigin } from '@skerry/runtime';
import type { NodePlace } from '../store/rows.ts';

/** Nodes that are chosen before others, until their memory is all taken. */
export interface Preference {
  /** Asked when it is the turn of the request. */
  nodes(): readonly string[];
  /** What they have, for the log of the sandbox. */
  because: string;
}

/** What has to be placed. */
export interface PlacementRequest {
  memoryMb: number;
  /** The only node that has what it begins with; null: any. */
  node: string | null;
  /** Nodes that have what others would have to make first. */
  prefers?: Preference | undefined;
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

/** 503 with the reason of each node. */
export const noPlace = ({ node }: PlacementRequest, obstacles: readonly string[]): ApiError => {
  const reasons = obstacles.length > 0 ? obstacles.join(', ') : 'the server has no such node';
  const message =
    node === null
      ? `no node can take the sandbox now: ${reasons}`
      : `what the sandbox begins with is on node "${node}" only: ${reasons}`;
  return new ApiError('unavailable', message, { reason: 'sandbox_capacity_unavailable' });
};
