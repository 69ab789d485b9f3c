import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { LeaseHolder } from '../store/leases/lease-rows.ts';
import type { NodeRow } from '../store/nodes/node-rows.ts';
import type { Store } from '../store/store.ts';

export interface OwnershipOptions {
  /** This server. */
  holder: LeaseHolder;
  /** All nodes, also those of other servers. */
  listed(): readonly { name: string; address: string }[];
  store: Store;
  clock: Clock;
  log: Log;
  /** Whether nothing that this server began on the node is under way. */
  isIdle(node: string): Promise<boolean>;
  onGain(row: NodeRow): void;
  /** Resolves when this server does not act on the node any more. */
  onLose(node: string): Promise<void>;
  /** Called after each round that could read the database, unless the last call is not over. The leases are renewed meanwhile. */
  onRound(): Promise<void>;
}

/** The nodes for which one of several servers acts. */
export interface Ownership {
  owns(node: string): boolean;
  nodes(): readonly string[];
  /** Whether this server builds templates. */
  readonly isBuilder: boolean;
  /** Whether it has renewed its leases within their time, so that no other server may have taken them. */
  holdsLease(): boolean;
  /** Makes the first round, then repeats it. Rejects when the database cannot be used. */
  start(): Promise<void>;
  /** Claims no node any more. Resolves when the round in progress is over; the leases stay. */
  stop(): Promise<void>;
  /** Stops, and gives up all leases: call when this server acts on no node any more. */
  close(): Promise<void>;
}

/** Lease of the server that builds templates, which is one at a time. */
export const builderLease = '*templates';
/** Each server has a lease of that kind, by which the others count it. */
const serverLease = '*server ';
/** The divisor of the number of nodes that a server gives away in one round. */
const GIVEN_PART = 20;
/** Rounds in the time of a lease: two may fail before it expires. */
const ROUNDS = 3;

/**
 * Shares the nodes among the servers that have leases: each takes free ones up to its share and gives some away while it has more. Those of
 * a server that does not renew its leases are free when these expire.
 */
export const createOwnership = (options: OwnershipOptions): Ownership => {
  const { holder, listed, store, clock, log, isIdle } = options;
  const owned = new Set<string>();
  /** When nodes without an owner were first seen so. */
  const freeSince = new Map<string, number>();
  let isBuilder = false;
  const intervalMs = holder.leaseMs / ROUNDS;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let isStopped = false;
  let cancelNext = (): void => {};
  let inProgress = Promise.resolve();
  /** The last call of `onRound`. */
  let following: Promise<void> | undefined;

  const lose = async (node: string): Promise<void> => {
    // First: from now on calls for it go to its next owner.
    owned.delete(node);
    await options.onLose(node);
  };

  /** Extends the leases of this server, and leaves the nodes that others have taken. Returns the names of the leases. */
  const renew = async (): Promise<ReadonlySet<string>> => {
    const renewed = new Set(await store.renewLeases(holder));
    renewedAt = clock.elapsed();
    for (const node of [...owned]) {
      if (renewed.has(node)) continue;
      log.warn('another server has taken over a node', { node });
      await lose(node);
    }
    return renewed;
  };

  /** Called between the steps of a round: to claim many nodes can take longer than a lease. */
  const renewInTime = async (): Promise<void> => {
    if (clock.elapsed() - renewedAt >= intervalMs) await renew();
  };

  const claim = async (node: { name: string; address: string }): Promise<NodeRow | undefined> => {
    // What began under the former lease would pass the fence again.
    if (!(await isIdle(node.name))) return undefined;
    const row = await store.claimNode(node, holder);
    if (row === undefined) return undefined;
    owned.add(node.name);
    log.info('this server owns a node', { node: node.name, epoch: row.epoch });
    return row;
  };

  /** Calls back with each node that it has claimed. */
  const takeFree = async (
    taken: ReadonlySet<string>,
    share: number,
    onClaim: (row: NodeRow) => void,
  ): Promise<void> => {
    for (const node of listed()) {
      if (isStopped) return;
      await renewInTime();
      if (owned.has(node.name) || taken.has(node.name)) {
        freeSince.delete(node.name);
        continue;
      }
      const since = freeSince.get(node.name) ?? clock.elapsed();
      freeSince.set(node.name, since);
      // Another server may not have it in its list, or not start any more.
      const isLeft = clock.elapsed() - since >= holder.leaseMs;
      const row = owned.size < share || isLeft ? await claim(node) : undefined;
      if (row !== undefined) onClaim(row);
    }
  };

  /** A few in each round: until another server has claimed them, calls for them are refused. */
  const giveAway = async (share: number): Promise<void> => {
    let left = Math.min(owned.size - share, Math.ceil(owned.size / GIVEN_PART));
    for (const given of [...owned].toSorted().reverse()) {
      if (left <= 0) return;
      await renewInTime();
      if (!(await isIdle(given))) continue;
      await lose(given);
      await store.releaseLeases(holder.owner, given);
      log.info('a node is left to another server', { node: given });
      left -= 1;
    }
  };

  const round = async (): Promise<void> => {
    const renewed = await renew();
    const isNew = await store.takeLease(`${serverLease}${holder.owner}`, holder);
    if (!isNew) throw new Error('another server has the same name');
    const leases = await store.listLeases();
    // A claim or a release whose answer was lost may have left a lease with this server: that node is free, for this server.
    const taken = new Set(
      leases.filter(({ name, owner }) => owner !== holder.owner || owned.has(name)).map(({ name }) => name),
    );
    const servers = leases.filter(({ name }) => name.startsWith(serverLease)).length;
    const share = Math.ceil(listed().length / Math.max(servers, 1));
    const claimed: NodeRow[] = [];
    try {
      await takeFree(taken, share, (row) => claimed.push(row));
    } finally {
      // Only now: to connect to many nodes takes so long that the last of them would be claimed late.
      for (const row of claimed) if (owned.has(row.name)) options.onGain(row);
    }
    await giveAway(share);
    const mayBuild = !taken.has(builderLease);
    isBuilder = owned.size > 0 && mayBuild && (await store.takeLease(builderLease, holder));
    if (!isBuilder && renewed.has(builderLease)) await store.releaseLeases(holder.owner, builderLease);
    following ??= options
      .onRound()
      .catch((error) => log.warn('what follows a round could not be done', { error }))
      .finally(() => {
        following = undefined;
      });
  };

  const repeat = (): void => {
    if (isStopped) return;
    cancelNext = clock.after(intervalMs, () => {
      inProgress = round()
        .catch((error) => log.warn('the leases of this server could not be renewed', { error }))
        .then(repeat);
    });
  };

  const stop = async (): Promise<void> => {
    isStopped = true;
    cancelNext();
    await inProgress;
    await following;
  };

  return {
    owns: (node) => owned.has(node),
    nodes: () => [...owned],
    get isBuilder() {
      return isBuilder;
    },
    holdsLease: () => clock.elapsed() - renewedAt < holder.leaseMs,
    start: async () => {
      await round();
      repeat();
      await following;
    },
    stop,
    close: async () => {
      await stop();
      owned.clear();
      isBuilder = false;
      await store
        .releaseLeases(holder.owner)
        .catch((error) => log.warn('leases could not be given up; they expire', { error }));
    },
  };
};
