import { isRuntimeError, type Runtime } from '@skerry/runtime';
import type { NodeDescription, NodeFolder } from '@skerry/runtime/node';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { NodeRow } from '../store/nodes/node-rows.ts';
import type { Store } from '../store/store.ts';
import type { NodeSnapshots } from './copies.ts';
import type { NodeImages } from './fleet-images.ts';
import type { HostsHooks } from './hosts.ts';

export type MeasureFolder = (folder: NodeFolder) => Promise<Map<string, number>>;

/** A connection to a node that is made again whenever it ends. */
export interface NodeLink {
  /** Undefined until the node has answered for the first time. */
  readonly runtime: Runtime | undefined;
  /** The images there; undefined until the node has answered for the first time. */
  readonly images: NodeImages | undefined;
  /** The node's snapshots in the blob store; undefined without a blob store. */
  readonly snapshots?: NodeSnapshots | undefined;
  /** The names in a folder of the node, and the space that each takes; undefined until it has answered. */
  readonly measureFolder?: MeasureFolder | undefined;
  close(): Promise<void>;
}

/** Opens the connection to a node, whose answers and failures it reports. */
export type ConnectNode = (
  node: Pick<NodeRow, 'name' | 'address' | 'epoch'>,
  events: { onAnswer(description: NodeDescription): void; onFailure(reason: Error): void },
) => NodeLink;

export interface MemberOptions extends Pick<HostsHooks, 'settle' | 'lose'> {
  row: NodeRow;
  connect: ConnectNode;
  store: Pick<Store, 'noteNodeSeen' | 'noteNodeLost'>;
  clock: Clock;
  log: Log;
  /** How long a node may not answer before it is held for dead. */
  deadMs: number;
}

/** One node, while this server runs. */
export interface Member {
  readonly name: string;
  /** `host:port` */
  readonly address: string;
  readonly runtime: Runtime | undefined;
  readonly images: NodeImages | undefined;
  readonly snapshots: NodeSnapshots | undefined;
  readonly measureFolder: MeasureFolder | undefined;
  /** What the node said last. */
  readonly description: NodeDescription | undefined;
  /** Whether it answers. */
  readonly isUp: boolean;
  /** Whether it answers, and what it has agrees with the records. */
  readonly isReady: boolean;
  /** Why it does not answer. */
  readonly problem: string | undefined;
  /** Resolves when it is ready, or could not be reached, for the first time. */
  readonly settled: Promise<void>;
  close(): Promise<void>;
}

/** Answers come every few seconds; the record of the last one need not be so exact. */
const SEEN_INTERVAL_MS = 30_000;

/** Watches a node until `close`. */
export const createMember = (options: MemberOptions): Member => {
  const { row, store, clock, log, deadMs } = options;
  const { name } = row;
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
  let description: NodeDescription | undefined;
  let problem: string | undefined;
  let isUp = false;
  let isReady = false;
  /** Whether the node answers, but works only with another version of servers. */
  let isRefusing = false;
  let notedAt = Number.NEGATIVE_INFINITY;
  /** Counts the times that it came, so that a round that began before it left is not taken for a later one. */
  let arrivals = 0;
  let isArriving = false;
  let isClosed = false;
  let cancelDeath = (): void => {};

  const report = (step: string) => (error: unknown) => log.error(step, { node: name, error });

  const note = async (): Promise<void> => {
    if (clock.elapsed() - notedAt < SEEN_INTERVAL_MS) return;
    notedAt = clock.elapsed();
    await store.noteNodeSeen(name, clock.now());
  };

  const arrive = async (): Promise<void> => {
    arrivals += 1;
    const arrival = arrivals;
    notedAt = Number.NEGATIVE_INFINITY;
    await note();
    await options.settle(name);
    if (arrival !== arrivals || !isUp) return;
    isReady = true;
    log.info('a node is ready', { node: name });
  };

  const arriveOnce = async (): Promise<void> => {
    if (isArriving) return;
    isArriving = true;
    try {
      await arrive();
    } catch (error) {
      report('what is on a node could not be made to agree with the records; this will be retried')(error);
    } finally {
      isArriving = false;
      settle();
    }
  };

  const die = async (): Promise<void> => {
    log.error('a node is held for dead: what ran on it is lost', { node: name, afterMs: deadMs, problem });
    await store.noteNodeLost(name, clock.now());
    await options.lose(name);
  };

  const awaitDeath = (): void => {
    cancelDeath = clock.after(deadMs, () => void die().catch(report('a dead node could not be recorded')));
  };

  // Count the time from now, not from the last answer to an earlier server: this one has not tried yet.
  awaitDeath();
  const link = options.connect(row, {
    onAnswer: (given) => {
      if (isClosed) return;
      description = given;
      problem = undefined;
      if (isUp) {
        void note().catch(report('the answer of a node could not be recorded'));
        if (!isReady) void arriveOnce();
        return;
      }
      isUp = true;
      isRefusing = false;
      cancelDeath();
      void arriveOnce();
    },
    onFailure: (reason) => {
      if (isClosed) return;
      const refuses = isRuntimeError(reason, 'unsupported');
      if (isUp || refuses !== isRefusing)
        log.warn(refuses ? 'a node refuses this server' : 'a node does not answer', {
          node: name,
          error: reason,
        });
      // One that refuses this server lives, and so does what runs on it.
      if (refuses) cancelDeath();
      else if (isUp || isRefusing) awaitDeath();
      isRefusing = refuses;
      problem = reason.message;
      isUp = false;
      isReady = false;
      settle();
    },
  });
  return {
    name,
    address: row.address,
    settled,
    get runtime() {
      return link.runtime;
    },
    get images() {
      return link.images;
    },
    get snapshots() {
      return link.snapshots;
    },
    get measureFolder() {
      return link.measureFolder;
    },
    get description() {
      return description;
    },
    get isUp() {
      return isUp;
    },
    get isReady() {
      return isReady;
    },
    get problem() {
      return problem;
    },
    close: async () => {
      isClosed = true;
      cancelDeath();
      settle();
      await link.close();
    },
  };
};
