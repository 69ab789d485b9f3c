import { type LogEntry, toLogEntry } from '../sandbox/sandbox-logs.ts';
import type { IsolationLevel } from '../sandbox/start-sandbox.ts';
import { callApi, createConnection } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';

/**
 * `ready` takes sandboxes; `settling` has just come back; `unreachable` does not answer; `lost` has not for so long that what ran on it
 * is lost; `unlisted` is not in the list with which the server was started.
 */
export type NodeState = 'ready' | 'settling' | 'unreachable' | 'lost' | 'unlisted';

/** A machine that makes sandboxes for the server. */
export interface NodeInfo {
  name: string;
  /** `host:port` */
  address: string;
  state: NodeState;
  /** Whether no new sandbox is placed on it. */
  cordoned: boolean;
  /** Whether the cluster that lists the nodes has ordered to place nothing on it, as `kubectl cordon` does. */
  unschedulable: boolean;
  /** Rises with each server that becomes the owner of the node. */
  epoch: number;
  /** When it last answered, up to half a minute late. */
  lastSeenAt: Date | undefined;
  /** Why it cannot be reached. */
  problem: string | undefined;
  /** The version of skerry on the node. */
  version: string | undefined;
  /** How many sandboxes may start or run on it, and its memory, by which they are spread. */
  room: { sandboxes: number; memoryMb: number } | undefined;
  /** What is on it: sandboxes that start or run, the limits of their memory, paused ones, and snapshots. */
  load: { sandboxes: number; memoryMb: number; paused: number; snapshots: number };
  /**
   * The server that acts for it, by the address at which the others reach it, and how long ago it renewed its lease. Undefined where one
   * server has all nodes, and while none of several has the lease.
   */
  owner: { address: string; leaseAgeMs: number } | undefined;
}

/** The result of a drain. */
export interface NodeDrain {
  node: NodeInfo;
  /** The sandboxes that are on the node. */
  remaining: RemainingSandbox[];
  /** Whether the server is moving sandboxes from it: ask again then. */
  moving: boolean;
}

/** A sandbox on a node that is drained. */
export interface RemainingSandbox {
  sandboxId: string;
  state: 'running' | 'paused';
  /** Why it could not be moved at the last attempt, for a person. */
  problem: string | undefined;
}

/** Where a sandbox is or was, and why. */
export interface SandboxExplanation {
  sandboxId: string;
  /** What separates it from the kernel of its host. */
  isolation: IsolationLevel;
  /** Undefined where the server makes sandboxes on its own machine. */
  node: string | undefined;
  nodeState: NodeState | undefined;
  /** Why it was placed there, for a person. */
  reason: string | undefined;
  /** Whether the blob store has it as it is paused; undefined unless it is paused and there is one. */
  stored: boolean | undefined;
  /** Why it could not be stored at the last attempt, for a person. */
  problem: string | undefined;
  /** Why traffic could not resume it at the last attempts, for a person. */
  wakeProblem: string | undefined;
  /** What the service has recorded of it, the oldest first. */
  history: LogEntry[];
}

/** Chooses a node, and the server. */
export interface NodeOptions extends ConnectionOptions {
  name: string;
}

/** The machines of a server that has its sandboxes on others. */
export const nodes = {
  /** All nodes by name; none for a server that makes sandboxes itself. */
  async list(options: ConnectionOptions = {}): Promise<NodeInfo[]> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.GET('/skerry/v1/nodes', { signal }),
    );
    return data.map(toNodeInfo);
  },

  /** Places no new sandbox on a node. Rejects with `NotFoundError`. */
  async cordon({ name, ...options }: NodeOptions): Promise<NodeInfo> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.POST('/skerry/v1/nodes/{nodeName}/cordon', { params: toPath(name), signal }),
    );
    return toNodeInfo(data);
  },

  /** Reverts `cordon` and `drain`. Rejects with `NotFoundError`. */
  async uncordon({ name, ...options }: NodeOptions): Promise<NodeInfo> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.POST('/skerry/v1/nodes/{nodeName}/uncordon', { params: toPath(name), signal }),
    );
    return toNodeInfo(data);
  },

  /**
   * Cordons a node and reports what has to leave it. Where the server has a blob store, it moves sandboxes to other nodes meanwhile: call
   * again until `moving` is false. Rejects with `NotFoundError`.
   */
  async drain({ name, ...options }: NodeOptions): Promise<NodeDrain> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.POST('/skerry/v1/nodes/{nodeName}/drain', { params: toPath(name), signal }),
    );
    const remaining = data.remaining.map(({ sandboxID, state, problem }) => ({
      sandboxId: sandboxID,
      state,
      problem,
    }));
    return { node: toNodeInfo(data.node), remaining, moving: data.moving };
  },

  /** Explains where a sandbox is, also one that has ended in the last seven days. Rejects with `NotFoundError`. */
  async explain(sandboxId: string, options: ConnectionOptions = {}): Promise<SandboxExplanation> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.GET('/skerry/v1/sandboxes/{sandboxID}/explanation', {
        params: { path: { sandboxID: sandboxId } },
        signal,
      }),
    );
    const { isolation, node, nodeState, reason, stored, problem, wakeProblem, history } = data;
    const where = { isolation, node, nodeState, reason, stored, problem, wakeProblem };
    return { sandboxId: data.sandboxID, ...where, history: history.map(toLogEntry) };
  },

  /** Ends all that is on a node that does not come back, as lost, and deletes its record. Rejects while it answers. */
  async forget({ name, ...options }: NodeOptions): Promise<void> {
    await callApi(createConnection(options), options, (api, signal) =>
      api.DELETE('/skerry/v1/nodes/{nodeName}', { params: toPath(name), signal }),
    );
  },
};

const toPath = (nodeName: string) => ({ path: { nodeName } });

/** What the API sends of a node. */
interface WireNode
  extends Omit<NodeInfo, 'unschedulable' | 'lastSeenAt' | 'problem' | 'version' | 'room' | 'load' | 'owner'> {
  unschedulable?: boolean;
  lastSeenAt?: string;
  problem?: string;
  version?: string;
  room?: { sandboxes: number; memoryMB: number };
  load: { sandboxes: number; memoryMB: number; paused: number; snapshots: number };
  owner?: { address: string; leaseAgeMs: number };
}

const toNodeInfo = ({
  unschedulable,
  lastSeenAt,
  problem,
  version,
  room,
  load,
  owner,
  ...node
}: WireNode): NodeInfo => ({
  ...node,
  unschedulable: unschedulable ?? false,
  lastSeenAt: lastSeenAt === undefined ? undefined : new Date(lastSeenAt),
  problem,
  version,
  room: room && { sandboxes: room.sandboxes, memoryMb: room.memoryMB },
  load: {
    sandboxes: load.sandboxes,
    memoryMb: load.memoryMB,
    paused: load.paused,
    snapshots: load.snapshots,
  },
  owner: owner && { address: owner.address, leaseAgeMs: owner.leaseAgeMs },
});
