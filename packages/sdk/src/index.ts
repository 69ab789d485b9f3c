export {
  AuthenticationError,
  InvalidArgumentError,
  MemoryNotKeptError,
  NotFoundError,
  type Obstacle,
  RateLimitError,
  SandboxError,
  type SandboxErrorCode,
  type SandboxErrorOptions,
  SandboxUnavailableError,
  TimeoutError,
} from './errors.ts';
export type { EntryInfo, EntryType } from './files/entry-info.ts';
export type { FileData, ReadOptions, WriteInfo, WriteOptions } from './files/file-transfer.ts';
export type { Files, ListOptions, WatchOptions, WriteEntry } from './files/files.ts';
export type { FileChange, FileEvent, LostEvents, WatchHandle } from './files/watch-handle.ts';
export {
  type ApiKeyInfo,
  type ApiKeyLimits,
  apiKeys,
  type CreateApiKeyOptions,
  type CreatedApiKey,
} from './keys/api-keys.ts';
export {
  type NodeDrain,
  type NodeInfo,
  type NodeOptions,
  type NodeState,
  nodes,
  type RemainingSandbox,
  type SandboxExplanation,
} from './nodes/nodes.ts';
export type { CommandHandle, OutputListeners } from './process/command-handle.ts';
export type { CommandOutput } from './process/command-output.ts';
export { CommandExitError, type CommandResult } from './process/command-result.ts';
export type { AttachOptions, CommandInfo, Commands, RunOptions } from './process/commands.ts';
export { type LostOutput, OutputLostError } from './process/output-lost-error.ts';
export type { StdinData } from './process/process-input.ts';
export type { Pty, PtyAttachOptions, PtyCreateOptions } from './process/pty.ts';
export type { PtyHandle, PtyListeners, PtyResult, PtySize } from './process/pty-handle.ts';
export type { ForkOptions } from './sandbox/forks.ts';
export type { NetworkRules, SandboxNetwork } from './sandbox/network.ts';
export {
  type FileUrlOptions,
  type PauseOptions,
  type PrivateUrlOptions,
  Sandbox,
} from './sandbox/sandbox.ts';
export type { SandboxInfo, SandboxState } from './sandbox/sandbox-info.ts';
export type { LogEntry, LogLevel, LogsOptions } from './sandbox/sandbox-logs.ts';
export type { MetricsOptions, SandboxMetric } from './sandbox/sandbox-metrics.ts';
export type { SandboxListOptions, SandboxPaginator } from './sandbox/sandbox-paginator.ts';
export type { ConnectOptions, IsolationLevel, SandboxOptions } from './sandbox/start-sandbox.ts';
export type {
  SnapshotInfo,
  SnapshotListOptions,
  SnapshotOptions,
  SnapshotPaginator,
} from './snapshots/snapshot-info.ts';
export {
  type FileDifference,
  type FileDiffOptions,
  type FileField,
  type SnapshotLogEntry,
  snapshots,
} from './snapshots/snapshots.ts';
export {
  type PruneOptions,
  type StorageKind,
  type StoragePruned,
  type StorageUsage,
  storage,
} from './storage/storage.ts';
export type { AgentCallOptions } from './transport/agent.ts';
export type { CallOptions } from './transport/call.ts';
export type { ConnectionOptions } from './transport/connection-options.ts';
export type { Page, Paginator } from './transport/paginator.ts';
