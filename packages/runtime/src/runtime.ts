import type { Duplex } from 'node:stream';
import type { ConnectOptions } from '@skerry/contract/directory';
import type { IsolationLevel } from '@skerry/contract/isolation';
import type { NetworkPolicy } from './network/policy.ts';

/**
 * The only way to make a sandbox. A driver implements it for one technology; `suite.ts` defines it as tests. Every
 * rejection is a `RuntimeError`.
 */
export interface Runtime {
  readonly name: string;
  readonly features: Features;
  /**
   * Resolves when the agent inside accepts on its control channel. Leaves nothing behind when it rejects: with
   * `already_exists` for an id in use, `exhausted` when the host is full, `unavailable` when the agent did not start in
   * time or the signal aborted, `unsupported` for a level that this host does not run, `not_found` for an unknown
   * snapshot, `damaged` for an incomplete or changed one, and otherwise with `internal`.
   */
  create(spec: InstanceSpec, options?: { signal?: AbortSignal }): Promise<Instance>;
  /** Finds an instance, also one that an earlier process made. Rejects with `not_found`. */
  get(id: string): Promise<Instance>;
  /**
   * Lists every instance that left a trace, also incomplete and dead ones: their state is `stopped`, and `stop` removes
   * them.
   */
  list(): AsyncIterable<Instance>;
  readonly snapshots: Snapshots;
  /** Releases everything that this process holds. Instances keep running. */
  close(): Promise<void>;
}

export type InstanceSpec = InstanceSettings &
  InstanceOrigin & {
    /** The weakest level that is enough; a snapshot may need a higher one. Default: that of the snapshot, or of the features. */
    isolation?: IsolationLevel;
  };

/** What the files of an instance are at its start. */
export type InstanceOrigin =
  /**
   * Absolute path of an image: a folder with its files or, where the host can mount it, an ext4 file system that has
   * them in its folder `rootfs`. It is shared by all its instances and never written to.
   */
  | { rootfs: string }
  /** A snapshot, of which the instance gets a copy. `diskBytes` must be equal to those of the capture. */
  | { snapshot: SnapshotId };

export interface InstanceSettings {
  /** `^[a-z0-9]{1,40}$` */
  id: string;
  hostname: string;
  limits: Limits;
  network: NetworkPolicy;
}

export interface Limits {
  /** CPU time per second of wall time; fractions are allowed. */
  cpuCount: number;
  /** Memory and swap together. */
  memoryBytes: number;
  /** The writable file system: changed files of the root, and the agent's folder. */
  diskBytes: number;
  /** Processes and threads. */
  processCount: number;
}

export interface Instance {
  readonly id: string;
  /**
   * The present run, or the last one while the instance is paused. It changes at every start, and so with every
   * `resume`; a connection made under one run id must not be used under another.
   */
  readonly runId: string;
  /** The level of that run. A resume may raise it. */
  readonly isolation: IsolationLevel;
  state(): Promise<InstanceState>;
  /**
   * Opens a byte stream to a port inside. 49983 is the agent's public HTTP; any other port is that of a program inside,
   * also on 127.0.0.1 or ::1 only. Rejects with `refused` when nothing listens there, and with `unavailable` when the
   * instance itself does not answer: it is paused or has ended. A `reader` replaces the way the stream is read, where
   * it is a socket of this process.
   */
  connect(port: number, options?: ConnectOptions): Promise<Duplex>;
  /** Opens a byte stream to the agent's private HTTP, which nothing inside the sandbox's network can reach. */
  control(options?: { signal?: AbortSignal }): Promise<Duplex>;
  /**
   * Ends the run, which `onExit` reports, and keeps the files or, with `memory`, the processes too. Durable when it
   * resolves: the instance survives a power cut, is `paused` for any later process, and has no processes, memory or
   * network on the host. Resolves at once when it is paused already.
   *
   * One end of a connection cannot be kept: with `memory`, the streams that this runtime has opened are ended first.
   *
   * Rejects with `unsupported` when the features say so, and with `unavailable` when the instance has ended, or when
   * another client stays connected to its agent and `memory` is requested. When it rejects the instance keeps running,
   * or has ended where writing its memory was interrupted: see `state`. Where its processes had to end before the
   * failure, it is `paused` but not yet durable: `pause` or `resume` continues from there. No file is lost in any case.
   */
  pause(options: { memory: boolean }): Promise<void>;
  /**
   * Begins a new run of a paused instance and resolves when the agent inside accepts on its control channel; its
   * addresses may differ from before. Restores the processes when the pause kept them; otherwise, or with `memory:
   * false`, starts the agent anew on the files. Resolves at once when the instance is running.
   *
   * When it rejects the instance is still paused with everything that the pause kept, except for the processes that
   * `memory: false` discards. It rejects with `unsupported` when `memory: true` asks for what the pause did not keep,
   * `exhausted` when the host is full, `unavailable` when the instance has ended, the agent did not start in time or
   * the signal aborted, and `internal` or `damaged` when what the pause kept is not complete any more.
   */
  resume(options?: { memory?: boolean; signal?: AbortSignal }): Promise<void>;
  /**
   * Captures the files of one moment or, with `memory`, the processes too, under an id that the caller has recorded.
   * The instance stays running or paused; a running one is frozen for a moment, and with `memory` the streams that this
   * runtime has opened to it are ended, as by a pause. Durable and verified when it resolves. With `ephemeral: true`
   * the snapshot can only be used to create instances: it is in no list, and is removed with the process that holds the
   * driver. When it rejects there is no such snapshot, or an incomplete one that can be deleted: with `unsupported`
   * when the features say so, `already_exists` for an id in use, `exhausted` when the host is full, and `unavailable`
   * when the instance has ended.
   */
  snapshot(options: {
    id: SnapshotId;
    memory: boolean;
    ephemeral?: boolean;
    /**
     * Makes no list of the files, which takes time for each of them: the snapshot cannot be compared, and
     * `verify` does not name damaged files. Without effect on an ephemeral one.
     */
    unlisted?: boolean;
  }): Promise<void>;
  /**
   * Writes the files of a paused instance, its own over those of its image, as a new image at `path`: absolute, of no
   * existing file, in a folder of the caller. The image is a file or a folder, as this runtime has its images. The
   * instance does not change. Times of files in an image that is a file
   * are kept in whole seconds. The image is on the medium when it resolves.
   * When it rejects there is none at `path`: with `unsupported` when the features say so, `unavailable` when the instance
   * is not paused or the signal aborted, `damaged` when its files differ from what the pause left, and `exhausted` when
   * the host is full.
   */
  exportImage(options: { path: string; signal?: AbortSignal }): Promise<ExportedImage>;
  /**
   * Replaces the policy of a running instance and of its later runs. When it resolves, new connections obey the new one, and a TCP
   * connection that it closes is reset by its next packet. Idempotent. Rejects with `unavailable` when the instance is not running, with
   * `unsupported` when it cannot get a link to the host any more, and otherwise with `internal`: which of the two policies holds is then
   * unknown until it is called again.
   */
  setNetwork(policy: NetworkPolicy): Promise<void>;
  usage(): Promise<Usage>;
  /** Ends every process and removes every trace, also what a pause kept. Idempotent, from any incomplete state. */
  stop(): Promise<void>;
  /**
   * Calls the listener once when this run has ended for any reason, also by a pause: see `state`. A run that has
   * already ended is reported soon. The returned function removes the listener.
   */
  onExit(listener: () => void): () => void;
}

export type InstanceState = 'running' | 'paused' | 'stopped';

export interface ExportedImage {
  /** The digest of the image's bytes, or of the entries of its folder: `sha256:` and 64 hex digits. */
  digest: string;
  /** The space that it takes on the disk of the host. */
  sizeBytes: number;
}

/** `^[a-z0-9]{1,40}$` */
export type SnapshotId = string;

/**
 * The snapshots of `Instance.snapshot`. A snapshot outlives its instance, and no instance depends on it after its
 * create.
 */
export interface Snapshots {
  /** Lists the complete ones. */
  list(): AsyncIterable<SnapshotInfo>;
  /**
   * Reads the whole snapshot. Resolves with a description of each difference from its capture, and with nothing when
   * there is none. Rejects with `not_found`.
   */
  verify(id: SnapshotId): Promise<string[]>;
  /**
   * Compares the files of the first with those of the second, ordered by path; a running instance is compared as it is
   * now. Rejects with `not_found`, with `damaged` for an incomplete snapshot, with `unsupported` for one whose files are not listed, and when the two were made
   * from different images or differ in too much, and with `unavailable` when the signal aborted.
   */
  diff(from: TreeOrigin, to: TreeOrigin, options?: { signal?: AbortSignal }): AsyncIterable<Difference>;
  /**
   * Writes the files of a snapshot as `Instance.exportImage` does, without its processes: those that a create without them would begin
   * with. The snapshot does not change, and is not needed any more when this resolves. Rejects with `not_found`, also for an
   * ephemeral one, `damaged`, `unsupported` when the features say so or the snapshot is of a higher level than this runtime, and as
   * `Instance.exportImage` does.
   */
  exportImage(id: SnapshotId, options: { path: string; signal?: AbortSignal }): Promise<ExportedImage>;
  /** Removes every trace of a snapshot, complete or not. Idempotent. */
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

/** One changed path. */
export interface Difference {
  /** Absolute. Bytes that are not UTF-8 are lone surrogates, U+DC80 to U+DCFF. */
  path: string;
  change: 'added' | 'removed' | 'changed';
  /** What has changed. Times do not count. */
  fields?: DifferentField[];
}

export interface SnapshotInfo {
  id: SnapshotId;
  /** The space it takes on the host's disk. */
  sizeBytes: number;
}

export interface Usage {
  /** The time of all processes of the present run together, also of ended ones. */
  cpuTimeMs: number;
  /**
   * The memory of all processes, without file pages that were not used lately: the kernel reclaims those
   * before it kills a process.
   */
  memoryBytes: number;
  /** Pages of files that are kept in memory, whether or not `memoryBytes` counts them. */
  cacheBytes: number;
  diskBytes: number;
  /** What files can still take on its disk or, without a limit of that, on the host's. 0 while it is paused. */
  freeDiskBytes: number;
  processCount: number;
  /** The processes of the present run that the kernel has killed at the memory limit. Absent where it does not count them. */
  oomKills?: number;
}

/** What a pause and a snapshot can keep. */
export interface Kept {
  pause: { memory: boolean; filesystem: boolean };
  snapshot: { memory: boolean; filesystem: boolean };
}

/** What a pause and a snapshot can keep of the sandboxes of one level. */
export interface LevelFeatures extends Kept {
  /** Whether no sandbox of that level has been tried yet: the rest is what it should keep then. */
  isExpected?: boolean;
}

/** What this driver can do on this host, found out by trying. Plain data. What it keeps is that of the default level. */
export interface Features extends Kept {
  /** What stands between a sandbox and the host's kernel, where its create names no level: the default level. */
  level: IsolationLevel;
  /** No run begins below it. */
  minimumLevel: IsolationLevel;
  /** The levels that a create can name, and what is kept of sandboxes of each. */
  levels: Readonly<Partial<Record<IsolationLevel, LevelFeatures>>>;
  /** Whether programs run inside. Without, a sandbox is its agent and the files of its image. */
  programs: boolean;
  /** Whether an instance can be exported as an image, and a snapshot where there are any. */
  imageExport: boolean;
  /** Sandboxes can have a network of their own with access to the internet. */
  network: boolean;
  /** The network of a sandbox can have rules by name. */
  nameRules: boolean;
  /** The limits of an instance that are enforced. */
  limits: { cpu: boolean; memory: boolean; disk: boolean; processes: boolean };
}
