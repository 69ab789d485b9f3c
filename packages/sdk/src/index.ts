export type { AgentCallOptions } from './agent.ts';
export type { CallOptions } from './call.ts';
export type { CommandHandle, OutputListeners } from './command-handle.ts';
export type { CommandOutput } from './command-output.ts';
export { CommandExitError, type CommandResult } from './command-result.ts';
export type { AttachOptions, CommandInfo, Commands, RunOptions } from './commands.ts';
export type { ConnectionOptions } from './connection-options.ts';
export type { EntryInfo, EntryType } from './entry-info.ts';
export {
  AuthenticationError,
  InvalidArgumentError,
  NotFoundError,
  RateLimitError,
  SandboxError,
  type SandboxErrorCode,
  type SandboxErrorOptions,
  SandboxUnavailableError,
  TimeoutError,
} from './errors.ts';
export type { FileData, WriteInfo, WriteOptions } from './file-transfer.ts';
export type { Files, ListOptions, WatchOptions, WriteEntry } from './files.ts';
export type { ForkOptions } from './forks.ts';
export { type LostOutput, OutputLostError } from './output-lost-error.ts';
export type { Page, Paginator } from './paginator.ts';
export type { StdinData } from './process-input.ts';
export type { Pty, PtyAttachOptions, PtyCreateOptions } from './pty.ts';
export type { PtyHandle, PtyListeners, PtyResult, PtySize } from './pty-handle.ts';
export { type FileUrlOptions, type PauseOptions, Sandbox } from './sandbox.ts';
export type { SandboxInfo, SandboxState } from './sandbox-info.ts';
export type { LogEntry, LogLevel, LogsOptions } from './sandbox-logs.ts';
export type { MetricsOptions, SandboxMetric } from './sandbox-metrics.ts';
export type { SandboxListOptions, SandboxPaginator } from './sandbox-paginator.ts';
export type { FileDifference, FileDiffOptions, FileField, SnapshotLogEntry } from './snapshot-inspection.ts';
export type {
  SnapshotInfo,
  SnapshotListOptions,
  SnapshotOptions,
  SnapshotPaginator,
} from './snapshots.ts';
export type { ConnectOptions, SandboxOptions } from './start-sandbox.ts';
export type { FileChange, FileEvent, LostEvents, WatchHandle } from './watch-handle.ts';
