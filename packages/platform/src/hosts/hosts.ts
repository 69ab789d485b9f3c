import type { IsolationLevel } from '@skerry/contract/isolation';
import type { Features, Instance, Runtime, SnapshotInfo, TreeOrigin } from '@skerry/runtime';
import type { ImageFolder } from '../images/template-images.ts';
import type { NodePlace, SnapshotRow } from '../store/rows.ts';
import type { Copies } from './copies.ts';
import type { NodeList } from './node-list.ts';
import type { OtherServers } from './other-servers.ts';

/** A machine that runs sandboxes. */
export interface Host {
  /** The name of the node; null: the machine of this server. */
  readonly node: string | null;
  /** The sandboxes and snapshots there. Calls that the loss of a node interrupts reject with `NodeUnreachableError`. */
  readonly runtime: Runtime;
  /** Where builds write new images; undefined where templates cannot be built. */
  readonly images: ImageFolder | undefined;
  /**
   * Resolves with the origin as `runtime` needs it, once its files are there: they may be copied first. Rejects with `ApiError` or
   * `RuntimeError` when that is not possible now.
   */
  prepare<O extends TreeOrigin>(origin: O, options?: { signal?: AbortSignal | undefined }): Promise<O>;
  /**
   * The place that a record reserves; undefined: there is no limit but that of the server. Throws `unavailable` until what is there agrees
   * with the records.
   */
  room(): NodePlace | undefined;
}

/** An instance, and the host that has it. */
export interface HostedInstance {
  host: Host;
  instance: Instance;
}

/** A snapshot, and the host that has it. */
export interface HostedSnapshot {
  host: Host;
  snapshot: SnapshotInfo;
}

/** Nodes that are chosen before others, until their memory is all taken. */
export interface Preference {
  /** Called when it is the turn of the request. */
  nodes(): readonly string[];
  /** What they have, for the log of the sandbox. */
  because: string;
}

/** What a sandbox needs of its host. */
export interface Need {
  memoryMb: number;
  isolation: IsolationLevel;
  /** The only node that has what it begins with; null: any. */
  node: string | null;
  /** Nodes that have what others would have to make first. */
  prefers?: Preference | undefined;
  /** Whether only nodes of this server may be chosen. Otherwise the call rejects with `ElsewhereError` when the best one is of another. */
  staysHere?: boolean;
  /** Hosts that have no capacity for it although they have room. */
  without?: readonly (string | null)[];
  /** Nodes that have refused it; the caller says why. */
  refusing?: readonly string[];
}

/** Whether instances may be started in advance: yes, no, as when memory is short, or the host does not answer. */
export type WarmRoom = 'free' | 'short' | 'unknown';

/** Memory of a machine: with less than this available, no sandbox is started in advance. */
export const SPARE_MEMORY = 0.1;

/** What this server does when its hosts come and go. */
export interface HostsHooks {
  /**
   * Makes records and sandboxes agree, after which the node may take work. Rejects while something that its record has ended still runs
   * there; it is called again at the next answer then.
   */
  settle(node: string): Promise<void>;
  /** Closes the records of what ran on the node. */
  lose(node: string): Promise<void>;
  /** Whether nothing that this server began on the node is under way. */
  isIdle(node: string): Promise<boolean>;
  /** Forgets the sandboxes on a node without ending them. */
  leave(node: string): void;
  /** Called every few seconds. */
  check(): Promise<void>;
  /** Called when a node is cordoned or takes sandboxes again. */
  onCordon(): void;
}

/** What a server cannot work without: the process that makes sandboxes, and its lease where several servers share the nodes. */
export type Requirement = 'driver' | 'lease';

/** The machines that run sandboxes: one or many. */
export interface Hosts {
  /** What each of them can do. */
  readonly features: Features;
  /**
   * Calls `attempt` with the best host, then with the next one as long as it resolves with `node_full`, and resolves with its first
   * other result; one request after the other, so that each sees what the one before has reserved. Rejects with `unavailable` when no host
   * can take the sandbox; the message says why for each.
   */
  reserve<T>(need: Need, attempt: (host: Host) => Promise<T | 'node_full'>): Promise<T>;
  /**
   * The host of a record. Throws `NodeUnreachableError` when it does not answer, `unavailable` when another server acts for it, and
   * `RuntimeError`, `not_found`, for a record of what is in the blob store only.
   */
  of(node: string | null): Host;
  /** The host of a snapshot. Rejects as `of`, and with `unavailable` when the blob store alone has it. */
  ofSnapshot(id: string): Promise<Host>;
  /**
   * The host of a new sandbox of a build, by default of the default level: the one that has its snapshot, or where builds are made now.
   * Rejects with `RuntimeError`, `not_found`, when none that answers has the snapshot, and with `unavailable` when none can build.
   */
  forBuild(origin: TreeOrigin, isolation?: IsolationLevel): Promise<Host>;
  /**
   * The only node on which a sandbox can begin with a snapshot; null: any. For a call that has to stay here, the server that has sent it has
   * found out whether its node takes sandboxes.
   */
  homeOf(snapshot: SnapshotRow, options: { staysHere: boolean }): Promise<string | null>;
  /** The hosts that answer now and for which this server acts. */
  reachable(): readonly Host[];
  /** The instances that these have. A host that cannot list its instances is left out. */
  instances(): AsyncIterable<HostedInstance>;
  /** The snapshots that these have. A snapshot that has moved to another host is removed instead. */
  snapshots(): AsyncIterable<HostedSnapshot>;
  /** False while the host of a record does not answer this server: nothing can be found out about what is there. */
  canReach(node: string | null): boolean;
  isCordoned(node: string | null): boolean;
  warmRoomOf(node: string | null): WarmRoom;
  /** Whether this server acts for what is on a host. */
  owns(node: string | null): boolean;
  /** The nodes for which it acts; all, when there is no other server. */
  readonly owned: readonly string[] | 'all';
  /** Whether this server builds templates. */
  readonly isBuilder: boolean;
  readonly servers: OtherServers;
  readonly nodes: NodeList;
  /** Where there is a blob store. */
  readonly copies: Copies | undefined;
  /** What this server lacks now. Resolves late where the driver is restarting: bound the wait. */
  findMissing(): Promise<readonly Requirement[]>;
  /** Claims and connects to what it serves. Resolves when each host is ready, or could not be reached at first. */
  start(hooks: HostsHooks): Promise<void>;
  close(): Promise<void>;
}
