import type { Duplex } from 'node:stream';
import type { ConnectOptions } from '@skerry/contract/directory';
import type { IsolationLevel } from '@skerry/contract/isolation';

/**
 * The one way to make a sandbox. A driver implements it for one technology; `suite.ts` is its definition in
 * executable form. Every rejection is a `RuntimeError`.
 */
export interface Runtime {
  readonly name: string;
  readonly features: Features;
  /**
   * Resolves when the agent inside accepts on its control channel. Leaves nothing behind when it rejects:
   * `already_exists` for an id in use, `exhausted` when the host is full, `unavailable` when the agent did not
   * come up in time or the signal aborted, `not_found` for a snapshot that is not there, `damaged` for one that is not
   * whole any more, `internal` for the rest.
   */
  create(spec: InstanceSpec, options?: { signal?: AbortSignal }): Promise<Instance>;
  /** Also finds an instance that an earlier process made. Rejects with `not_found`. */
  get(id: string): Promise<Instance>;
  /** Every instance that left a trace, the half made and the dead ones too: those answer `stopped` and can be stopped. */
  list(): AsyncIterable<Instance>;
  readonly snapshots: Snapshots;
  /** Lets go of everything this process holds. Instances live on. */
  close(): Promise<void>;
}

export type InstanceSpec = InstanceSettings & InstanceOrigin;

/** What the files of an instance are at its start. */
export type InstanceOrigin =
  /** Absolute path of an unpacked image. It is shared by all its instances and never written to. */
  | { rootfs: string }
  /** What was captured, of which the instance gets a copy. `diskBytes` must be as they were at the capture. */
  | { snapshot: SnapshotId };

export interface InstanceSettings {
  /** `^[a-z0-9]{1,40}$` */
  id: string;
  hostname: string;
  limits: Limits;
  network: { internet: boolean };
}

export interface Limits {
  /** CPU time per second of wall time; fractions are allowed. */
  cpuCount: number;
  /** Memory and swap together. */
  memoryBytes: number;
  /** The writable file system: the changed files of the root and the agent's folder. */
  diskBytes: number;
  /** Processes and threads. */
  processCount: number;
}

export interface Instance {
  readonly id: string;
  /**
   * The present run, or the last one while the instance is paused. New at every start, and so after every `resume`; a
   * connection made under one run id must not be used under another.
   */
  readonly runId: string;
  state(): Promise<InstanceState>;
  /**
   * Opens a byte stream to a port inside. 49983 is the agent's public HTTP; any other port is whatever listens
   * inside, also on 127.0.0.1 or ::1 only. Rejects with `refused` when nothing listens there, `unavailable` when
   * the instance itself does not answer: it is paused or has ended. A `reader` takes over how the stream is read, where it
   * is a socket of this process.
   */
  connect(port: number, options?: ConnectOptions): Promise<Duplex>;
  /** Opens a byte stream to the agent's private HTTP, which nothing inside the sandbox's network can reach. */
  control(options?: { signal?: AbortSignal }): Promise<Duplex>;
  /**
   * Ends the run, `onExit` tells of it, and keeps the files or, with `memory`, the processes too. Durable when it
   * resolves: the instance survives a power cut, is `paused` to whoever finds it next, and has no processes, memory or
   * network on the host. Resolves at once when it is paused already.
   *
   * One end of a connection cannot be kept: with `memory`, the streams that this runtime has opened are ended first.
   *
   * Rejects with `unsupported` when the features say so and with `unavailable` when the instance has ended, or when
   * somebody else stays connected to its agent and `memory` is asked for. The instance runs on when it rejects, or has ended
   * where writing its memory was cut short: `state` tells. Only where its processes had to end before the failure, it is
   * `paused` but not yet durable: `pause` again, or `resume`, goes on from there. No file is lost either way.
   */
  pause(options: { memory: boolean }): Promise<void>;
  /**
   * Begins a new run of a paused instance and resolves when the agent inside accepts on its control channel; its
   * addresses may be others than before. Goes on with the processes when the pause kept them, and otherwise, or with
   * `memory: false`, starts the agent anew on the files. Resolves at once when the instance runs already.
   *
   * Still paused, with all that the pause kept, when it rejects (but for the processes that `memory: false` gives up): with `unsupported` when `memory: true` asks for what
   * the pause did not keep, `exhausted` when the host is full, `unavailable` when the instance has ended, the agent did
   * not come up in time or the signal aborted, `internal` or `damaged` when what the pause kept is not whole any more.
   */
  resume(options?: { memory?: boolean; signal?: AbortSignal }): Promise<void>;
  /**
   * Captures the files of one moment or, with `memory`, the processes too, under an id that the caller has recorded. The
   * instance stays what it is, running or paused; a running one stands still for a moment, and with `memory` the streams that
   * this runtime has opened to it are ended, as by a pause. Durable and verified when it resolves; with `ephemeral: true` only good to
   * create from, not in any list, and gone with the process that holds the driver. When it rejects there is no such snapshot, or what there is can be deleted: with `unsupported` when the
   * features say so, `already_exists` for an id in use, `exhausted` when the host is full, `unavailable` when the
   * instance has ended.
   */
  snapshot(options: { id: SnapshotId; memory: boolean; ephemeral?: boolean }): Promise<void>;
  usage(): Promise<Usage>;
  /** Ends every process and removes every trace, what a pause kept too. Idempotent, from any half-made state. */
  stop(): Promise<void>;
  /**
   * Calls the listener once when this run is over, however it ended, by a pause too: `state` then says which. Soon when
   * it is over already. The returned function takes the listener back.
   */
  onExit(listener: () => void): () => void;
}

export type InstanceState = 'running' | 'paused' | 'stopped';

/** `^[a-z0-9]{1,40}$` */
export type SnapshotId = string;

/** What `Instance.snapshot` has made. A snapshot outlives its instance, and no instance needs it once it is created. */
export interface Snapshots {
  /** Every one that is complete. */
  list(): AsyncIterable<SnapshotInfo>;
  /**
   * Reads all of it. Resolves with what is not as it was when it was made, in words; with nothing when it is whole.
   * Rejects with `not_found`.
   */
  verify(id: SnapshotId): Promise<string[]>;
  /**
   * What became of the files of the first in the second, ordered by path; what is running is looked at as it is now.
   * Rejects with `not_found`, with `damaged` for a snapshot that is not whole, with `unsupported` when the two were
   * made on different images or differ in too much, and with `unavailable` when the signal aborted.
   */
  diff(from: TreeOrigin, to: TreeOrigin, options?: { signal?: AbortSignal }): AsyncIterable<Difference>;
  /** Removes every trace of it, complete or not. Idempotent. */
  delete(id: SnapshotId): Promise<void>;
}

/** Files that can be compared: those of an instance, of a snapshot, or of an image. */
export type TreeOrigin = InstanceOrigin | { instance: string };

export type DifferentField =
  | 'type'
  | 'mode'
  | 'uid'
  | 'gid'
  | 'sizeBytes'
  | 'target'
  | 'device'
  | 'xattrs'
  | 'content';

/** One path, and what became of it. */
export interface Difference {
  /** Absolute. Bytes that are no UTF-8 stand as lone surrogates, U+DC80 to U+DCFF. */
  path: string;
  change: 'added' | 'removed' | 'changed';
  /** Of what changed. Times do not count. */
  fields?: DifferentField[];
}

export interface SnapshotInfo {
  id: SnapshotId;
  /** What it takes on the host's disk. */
  sizeBytes: number;
}

export interface Usage {
  /** Of all processes of the present run together, the ended ones too. */
  cpuTimeMs: number;
  /** Without file pages that nobody has used lately: those are given up before anything is killed. */
  memoryBytes: number;
  /** Pages of files that are kept in memory, whether or not `memoryBytes` counts them. */
  cacheBytes: number;
  diskBytes: number;
  processCount: number;
}

/** What this driver can do on this host, found out by trying. Plain data. */
export interface Features {
  /** What stands between the sandbox and the host's kernel. */
  level: IsolationLevel;
  /** Programs run inside. Without, a sandbox is its agent and the files of its image. */
  programs: boolean;
  pause: { memory: boolean; filesystem: boolean };
  snapshot: { memory: boolean; filesystem: boolean };
  /** Sandboxes can have their own network with a way out. */
  network: boolean;
  /** Which of an instance's limits hold. */
  limits: { cpu: boolean; memory: boolean; disk: boolean; processes: boolean };
}
