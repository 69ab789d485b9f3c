import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { ListedNode } from './membership.ts';

export interface FollowOptions {
  nodes(): readonly ListedNode[];
  /** Whether the server uses the node at that address, or leaves it to another server. */
  isCurrent(node: ListedNode): boolean;
  /** Begins to use it there, and nowhere else. */
  open(node: ListedNode): Promise<void>;
  clock: Pick<Clock, 'after'>;
  log: Log;
}

/** Makes a server use the nodes that there are now. */
export interface Follower {
  /** Opens what is not current. Rejects when that fails. */
  follow(): Promise<void>;
  /** Calls `follow` in the background, again after each failure, until it succeeds. */
  followLater(): void;
  /** Resolves when nothing is in progress. */
  close(): Promise<void>;
}

const RETRY_MS = 1_000;

export const createFollower = ({ nodes, isCurrent, open, clock, log }: FollowOptions): Follower => {
  let inProgress = Promise.resolve();
  let isClosed = false;
  let cancelRetry = (): void => {};

  const follow = async (): Promise<void> => {
    for (const node of nodes()) if (!isClosed && !isCurrent(node)) await open(node);
  };

  const followLater = (): void => {
    cancelRetry();
    if (isClosed) return;
    inProgress = inProgress.then(follow).catch((error: unknown) => {
      log.warn('a new node could not be claimed; this will be retried', { error });
      cancelRetry();
      if (!isClosed) cancelRetry = clock.after(RETRY_MS, followLater);
    });
  };

  return {
    follow,
    followLater,
    close: async () => {
      isClosed = true;
      cancelRetry();
      await inProgress;
    },
  };
};
