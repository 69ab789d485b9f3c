import { createSignature } from '@skerry/envd-client';
import type { components } from '@skerry/platform-client';
import { SandboxError, toSandboxError } from '../errors.ts';
import { Files } from '../files/files.ts';
import { Commands } from '../process/commands.ts';
import { Pty } from '../process/pty.ts';
import {
  createSnapshot,
  type SnapshotInfo,
  type SnapshotListOptions,
  type SnapshotOptions,
  SnapshotPaginator,
} from '../snapshots/snapshot-info.ts';
import { type Agent, createAgent } from '../transport/agent.ts';
import type { CallOptions } from '../transport/call.ts';
import { type Connection, callApi, createConnection } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';
import { agentPort, toSandboxHost, toScheme } from '../transport/sandbox-address.ts';
import { type ForkOptions, forkSandbox } from './forks.ts';
import { SandboxNetwork } from './network.ts';
import { signPortLink } from './port-link.ts';
import { getSandboxInfo, type SandboxInfo } from './sandbox-info.ts';
import { getSandboxLogs, type LogEntry, type LogsOptions } from './sandbox-logs.ts';
import { getSandboxMetrics, type MetricsOptions, type SandboxMetric } from './sandbox-metrics.ts';
import { type SandboxListOptions, SandboxPaginator } from './sandbox-paginator.ts';
import { type ConnectOptions, resumeSandbox, type SandboxOptions, startSandbox } from './start-sandbox.ts';

export interface PauseOptions extends CallOptions {
  /** `false` keeps the files only; a resume then starts without any process. Default true. */
  memory?: boolean | undefined;
}

export interface FileUrlOptions {
  /** Decides where relative paths start, and who owns what is uploaded. */
  user?: string | undefined;
  /** How long the URL is valid, in milliseconds, rounded up to whole seconds. Default: as long as the sandbox lives. */
  expiresInMs?: number | undefined;
}

export interface PrivateUrlOptions {
  /** How long the URL and its cookie open the port, in milliseconds, at most a day. Default: an hour. */
  expiresInMs?: number | undefined;
}

/** One sandbox. Returned by `Sandbox.create` and `Sandbox.connect`; `await using` kills it at the end of the block. */
export class Sandbox implements AsyncDisposable {
  readonly sandboxId: string;
  readonly templateId: string;
  /** Domain of its host names, with its port. */
  readonly domain: string;
  /** Version of its agent. */
  readonly envdVersion: string;
  /** The value of the header `e2b-traffic-access-token`; undefined while the ports are public. */
  readonly trafficAccessToken: string | undefined;
  readonly commands: Commands;
  readonly files: Files;
  /** Terminals, for people and for programs that need one. */
  readonly pty: Pty;
  /** What it may reach. */
  readonly network: SandboxNetwork;
  readonly #connection: Connection;
  readonly #agent: Agent;
  readonly #accessToken: string | undefined;

  private constructor(connection: Connection, sandbox: components['schemas']['Sandbox']) {
    this.sandboxId = sandbox.sandboxID;
    this.templateId = sandbox.templateID;
    this.domain = sandbox.domain || connection.domain;
    this.envdVersion = sandbox.envdVersion;
    this.trafficAccessToken = sandbox.trafficAccessToken ?? undefined;
    this.#connection = connection;
    this.#accessToken = sandbox.envdAccessToken;
    this.#agent = createAgent({
      connection,
      sandboxId: this.sandboxId,
      domain: this.domain,
      accessToken: this.#accessToken,
    });
    this.commands = new Commands(this.#agent);
    this.files = new Files(this.#agent);
    this.pty = new Pty(this.#agent);
    this.network = new SandboxNetwork(connection, this.sandboxId);
  }

  /**
   * Starts a sandbox and resolves when it is usable. It lives for `timeoutMs`, also while it is in use, and is then
   * killed or, with `autoPause`, paused. Rejects with `NotFoundError` for an unknown template and `RateLimitError` when too
   * many are running.
   */
  static async create(options: SandboxOptions = {}): Promise<Sandbox> {
    const connection = createConnection(options);
    return new Sandbox(connection, await startSandbox(connection, options));
  }

  /**
   * Connects to an existing sandbox, and resumes it when it is paused. On a running one `timeoutMs` only extends its
   * life. Rejects with `NotFoundError`.
   */
  static async connect(sandboxId: string, options: ConnectOptions = {}): Promise<Sandbox> {
    const connection = createConnection(options);
    return new Sandbox(connection, await resumeSandbox(connection, sandboxId, options));
  }

  /** Lists the sandboxes of this API key. The first request is sent when you read the first page. */
  static list(options: SandboxListOptions = {}): SandboxPaginator {
    return new SandboxPaginator(createConnection(options), options);
  }

  /** Ends a running or paused sandbox and deletes its files. Returns false when it does not exist. */
  static kill(sandboxId: string, options: ConnectionOptions = {}): Promise<boolean> {
    return killSandbox(createConnection(options), sandboxId, options);
  }

  /** Ends the sandbox and deletes its files. Returns false when it does not exist. */
  kill(options: CallOptions = {}): Promise<boolean> {
    return killSandbox(this.#connection, this.sandboxId, options);
  }

  /** Pauses a sandbox by its id, as the method does. */
  static pause(sandboxId: string, options: PauseOptions & ConnectionOptions = {}): Promise<void> {
    return pauseSandbox(createConnection(options), sandboxId, options);
  }

  /**
   * Writes the sandbox to disk and stops it; when this resolves it is safe there and no longer expires.
   * `Sandbox.connect` resumes it, with the same id, metadata, variables and tokens; connections do not survive. When
   * this rejects, it still runs. Rejects with `NotFoundError`, `InvalidArgumentError` when the service cannot keep memory,
   * and a `SandboxError` of code `conflict` when it is already paused or being resumed.
   */
  pause(options: PauseOptions = {}): Promise<void> {
    return pauseSandbox(this.#connection, this.sandboxId, options);
  }

  /** Makes a snapshot of a sandbox by its id, as the method does. */
  static createSnapshot(
    sandboxId: string,
    options: SnapshotOptions & ConnectionOptions = {},
  ): Promise<SnapshotInfo> {
    return createSnapshot(createConnection(options), sandboxId, options);
  }

  /**
   * Captures the sandbox as a template, which outlives it; the sandbox is frozen for a moment and continues. Create
   * sandboxes from it with `Sandbox.create({ template: snapshotId })`. It is safe on disk when this resolves. Rejects with
   * `NotFoundError`, `InvalidArgumentError` when the service cannot capture memory, and a `SandboxError` of code
   * `conflict` while the sandbox is being paused, resumed or captured.
   */
  createSnapshot(options: SnapshotOptions = {}): Promise<SnapshotInfo> {
    return createSnapshot(this.#connection, this.sandboxId, options);
  }

  /** Lists the snapshots of this sandbox. */
  listSnapshots(
    options: Omit<SnapshotListOptions, 'sandboxId' | keyof ConnectionOptions> = {},
  ): SnapshotPaginator {
    return new SnapshotPaginator(this.#connection, { ...options, sandboxId: this.sandboxId });
  }

  /** Copies a sandbox by its id, as the method does. */
  static fork(
    sandboxId: string,
    options: ForkOptions & ConnectionOptions = {},
  ): Promise<(Sandbox | SandboxError)[]> {
    return Sandbox.#fork(createConnection(options), sandboxId, options);
  }

  /**
   * Captures this sandbox once, with its running processes, and starts copies that continue from that moment, each
   * with its own id, token and address. The sandbox itself continues; connections to it are reset. Each copy succeeds
   * or fails separately: check each entry. Programs that keep a random generator in their own memory continue from the
   * same state in every copy; random numbers of the kernel differ. With `memory: false` the copies have only the files
   * and no processes, and connections stay. Rejects with `NotFoundError`, `InvalidArgumentError` for more copies than the
   * concurrency limit, and a `SandboxError` of code `conflict` when it is paused, or `unimplemented` when the service
   * cannot capture processes.
   */
  fork(options: ForkOptions = {}): Promise<(Sandbox | SandboxError)[]> {
    return Sandbox.#fork(this.#connection, this.sandboxId, options);
  }

  static async #fork(
    connection: Connection,
    sandboxId: string,
    options: ForkOptions,
  ): Promise<(Sandbox | SandboxError)[]> {
    const entries = await forkSandbox(connection, sandboxId, options);
    return entries.map((entry) => (entry instanceof SandboxError ? entry : new Sandbox(connection, entry)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill().then(() => {});
  }

  /**
   * Sets the end of the sandbox to `timeoutMs` from now, sooner or later than before. Rejects with `NotFoundError` when it
   * is gone or paused.
   */
  async setTimeout(timeoutMs: number, options: CallOptions = {}): Promise<void> {
    await callApi(this.#connection, options, (api, signal) =>
      api.POST('/sandboxes/{sandboxID}/timeout', {
        params: { path: { sandboxID: this.sandboxId } },
        body: { timeout: Math.ceil(timeoutMs / 1000) },
        signal,
      }),
    );
  }

  /** Returns what the service reports about it now. Rejects with `NotFoundError`. */
  getInfo(options: CallOptions = {}): Promise<SandboxInfo> {
    return getSandboxInfo(this.#connection, this.sandboxId, options);
  }

  /** Reads what the service knows of a sandbox by its id. A paused sandbox stays paused. */
  static getInfo(sandboxId: string, options: ConnectionOptions = {}): Promise<SandboxInfo> {
    return getSandboxInfo(createConnection(options), sandboxId, options);
  }

  /** Reads the log of a sandbox by its id, as the method does. */
  static getLogs(sandboxId: string, options: LogsOptions & ConnectionOptions = {}): Promise<LogEntry[]> {
    return getSandboxLogs(createConnection(options), sandboxId, options);
  }

  /**
   * Returns its log, the newest entry first: starts, pauses and the cause of its end, processes that started and
   * ended, uploads that failed, and a bounded amount of what the start command and commands in the background have printed. Available for 7 days after its end. Rejects with `NotFoundError`.
   */
  getLogs(options: LogsOptions = {}): Promise<LogEntry[]> {
    return getSandboxLogs(this.#connection, this.sandboxId, options);
  }

  /** Reads the metrics of a sandbox by its id, as the method does. */
  static getMetrics(
    sandboxId: string,
    options: MetricsOptions & ConnectionOptions = {},
  ): Promise<SandboxMetric[]> {
    return getSandboxMetrics(createConnection(options), sandboxId, options);
  }

  /**
   * Returns its usage, oldest first: a sample every 5 seconds, with larger intervals over an hour or more. Available
   * for 7 days after its end. Rejects with `NotFoundError`, and `InvalidArgumentError` when `start` is after `end`.
   */
  getMetrics(options: MetricsOptions = {}): Promise<SandboxMetric[]> {
    return getSandboxMetrics(this.#connection, this.sandboxId, options);
  }

  /** Asks the agent of the sandbox. Returns false when the sandbox is gone or paused. */
  isRunning(options: CallOptions = {}): Promise<boolean> {
    return this.#agent.probe(options);
  }

  /** The host name, with its port if it has one, of a port of the sandbox. Throws `InvalidArgumentError`. */
  getHost(port: number): string {
    return toSandboxHost(this, port);
  }

  /** The URL of a port of the sandbox, without a trailing slash. Throws `InvalidArgumentError`. */
  getUrl(port: number): string {
    return `${toScheme(this.#connection)}//${this.getHost(port)}`;
  }

  /**
   * A URL that opens a private port in a browser. The server answers it with a cookie for that port. Anyone with the URL can open the port
   * until the URL expires. Rejects with `InvalidArgumentError` when the ports are public, and for a longer time than a day.
   */
  async getPrivateUrl(port: number, { expiresInMs }: PrivateUrlOptions = {}): Promise<string> {
    const url = this.getUrl(port);
    const { sandboxId, trafficAccessToken: trafficToken } = this;
    if (trafficToken === undefined)
      throw toSandboxError('invalid_argument', `the ports of sandbox "${sandboxId}" are public: use getUrl`);
    return `${url}/?skerry_link=${await signPortLink({ sandboxId, port, trafficToken, expiresInMs })}`;
  }

  /** A URL that downloads one file with a plain GET, without further credentials. */
  downloadUrl(path: string, options: FileUrlOptions = {}): Promise<string> {
    return this.#toFileUrl('read', path, options);
  }

  /** A URL that uploads one file with a plain POST, as `application/octet-stream` or as the part `file` of a form. */
  uploadUrl(path: string, options: FileUrlOptions = {}): Promise<string> {
    return this.#toFileUrl('write', path, options);
  }

  // Always the sandbox's own host name: at a shared address, the URL would not identify the sandbox.
  async #toFileUrl(operation: 'read' | 'write', path: string, options: FileUrlOptions): Promise<string> {
    const { user = '', expiresInMs } = options;
    const url = new URL(`${this.getUrl(agentPort)}/files`);
    url.searchParams.set('path', path);
    if (user) url.searchParams.set('username', user);
    if (this.#accessToken) {
      const expiresAt =
        expiresInMs === undefined ? {} : { expiresAt: Math.ceil((Date.now() + expiresInMs) / 1000) };
      const input = { path, operation, user, accessToken: this.#accessToken, ...expiresAt };
      url.searchParams.set('signature', await createSignature(input));
      if (expiresAt.expiresAt !== undefined) {
        url.searchParams.set('signature_expiration', String(expiresAt.expiresAt));
      }
    }
    return url.href;
  }
}

async function pauseSandbox(connection: Connection, sandboxId: string, options: PauseOptions): Promise<void> {
  const { memory } = options;
  await callApi(connection, options, (api, signal) =>
    api.POST('/sandboxes/{sandboxID}/pause', {
      params: { path: { sandboxID: sandboxId } },
      body: memory === undefined ? {} : { memory },
      signal,
    }),
  );
}

async function killSandbox(
  connection: Connection,
  sandboxId: string,
  options: CallOptions,
): Promise<boolean> {
  try {
    await callApi(connection, options, (api, signal) =>
      api.DELETE('/sandboxes/{sandboxID}', { params: { path: { sandboxID: sandboxId } }, signal }),
    );
    return true;
  } catch (error) {
    if (error instanceof SandboxError && error.code === 'not_found') return false;
    throw error;
  }
}
