import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { hashToken } from '@skerry/contract/agent-access';
import type { AgentInit } from '@skerry/contract/agent-control';
import type { AgentKeys } from '@skerry/contract/directory';
import { type Codec, createEnvdClient, type EnvdClient } from '@skerry/envd-client';
import { Signal } from '@skerry/envd-client/process';
import type { SharedStack } from '../stack/shared-stack.ts';
import { toRouting } from '../stack/stack-client.ts';
import type { AgentProcess } from './agent-process.ts';
import { createPlainCalls, type PlainCalls } from './plain-calls.ts';
import { byPid, sh, trace } from './process-events.ts';
import { createRpcCalls, type RpcCalls } from './rpc-calls.ts';

/** What an agent is initialized with; `accessToken: null` sets none. */
export interface AgentSettings {
  readonly envVars?: Record<string, string>;
  readonly accessToken?: string | null;
  readonly defaultWorkdir?: string;
  /** Puts an edge before a bare agent, as one in a sandbox always has: only there signatures are checked. */
  readonly hasEdge?: boolean;
}

/** How one agent is reached and observed. */
export interface AgentConnection {
  /** Takes requests of clients. */
  readonly url: string;
  /** The address of its TCP port for programs that run beside it. */
  readonly innerUrl: string;
  /** The folder of its sockets, for programs that run beside it. */
  readonly innerSocketDir: string;
  readonly sandboxId: string;
  /** Empty when no token is set. */
  readonly accessToken: string;
  /** The home directory of root. */
  readonly rootHome: string;
  /** Connects without an edge between: to its unix socket, or to its TCP port. */
  dial(way: 'socket' | 'port'): Promise<Socket>;
  findProcess(): AgentProcess;
  /** Ends the agent and all that was made for it. Idempotent. */
  end(): Promise<void>;
}

export interface ClientOptions {
  /** Default: the agent's default user. */
  user?: string;
  /** Default: that of the agent. */
  accessToken?: string;
  codec?: Codec;
}

/** Small files of an agent, through `/files`. */
export interface AgentFiles {
  read(path: string): Promise<string>;
  write(path: string, body: string | Uint8Array): Promise<void>;
  exists(path: string): Promise<boolean>;
}

export interface Agent extends AgentConnection {
  /** Requests as they stand. */
  readonly plain: PlainCalls;
  /** Connect calls as they go over the wire. */
  readonly rpc: RpcCalls;
  readonly files: AgentFiles;
  /** The generated client; its calls act as the default user. */
  readonly client: EnvdClient;
  clientOf(options: ClientOptions): EnvdClient;
  /** Runs a shell script beside the agent, as root unless `user` is given. Resolves with its output; rejects unless it ends with 0. */
  run(script: string, user?: string): Promise<string>;
  kill(pid: number): Promise<unknown>;
}

/** Where agents of one kind come from. */
export interface AgentSource {
  open(settings?: AgentSettings): Promise<Agent>;
  readonly stack?: SharedStack;
  /** Ends all agents that it has opened. */
  close(): Promise<void>;
}

/** Adds the calls of tests to a connection. `ask` is called when a call is made, not before. */
export const createAgent = (ask: () => AgentConnection): Agent => {
  const plain = createPlainCalls(() => {
    const { url, ...sandbox } = ask();
    return { stack: { address: { sandboxUrl: url } }, sandbox };
  });
  const clientOf: Agent['clientOf'] = ({ user, accessToken, codec }) => {
    const { url, accessToken: own, sandboxId } = ask();
    return createEnvdClient({
      baseUrl: url,
      accessToken: accessToken ?? own,
      headers: toRouting(sandboxId),
      user,
      codec,
    });
  };
  return {
    get url() {
      return ask().url;
    },
    get innerUrl() {
      return ask().innerUrl;
    },
    get innerSocketDir() {
      return ask().innerSocketDir;
    },
    get sandboxId() {
      return ask().sandboxId;
    },
    get accessToken() {
      return ask().accessToken;
    },
    get rootHome() {
      return ask().rootHome;
    },
    dial: (way) => ask().dial(way),
    findProcess: () => ask().findProcess(),
    end: () => ask().end(),
    plain,
    rpc: createRpcCalls(plain),
    files: createFiles(plain),
    get client() {
      return clientOf({});
    },
    clientOf,
    run: (script, user = 'root') => runScript(clientOf({ user }), script),
    kill: (pid) => clientOf({}).process.sendSignal({ ...byPid(pid), signal: Signal.SIGKILL }),
  };
};

const createFiles = ({ get, put }: PlainCalls): AgentFiles => ({
  async read(path) {
    const { status, text } = await get(path);
    if (status !== 200) throw new Error(`GET /files of ${path} answered ${status}: ${text}`);
    return text;
  },
  async write(path, body) {
    const { status, text } = await put(path, body);
    if (status !== 200) throw new Error(`POST /files of ${path} answered ${status}: ${text}`);
  },
  async exists(path) {
    const { status, text } = await get(path, { range: 'bytes=0-0' });
    if (status === 404) return false;
    if ([200, 206, 416].includes(status)) return true;
    throw new Error(`GET /files of ${path} answered ${status}: ${text}`);
  },
});

const runScript = async ({ process }: EnvdClient, script: string): Promise<string> => {
  const { stdout, stderr, end } = await trace(process.start({ ...sh(script), stdin: false }));
  if (end?.exitCode !== 0) throw new Error(`${end?.status}: ${stderr}`);
  return stdout;
};

/** The token of an agent and a new nonce, for the edge before it. */
export const createKeys = (accessToken: string | null): AgentKeys => ({
  ...(accessToken !== null && { accessToken }),
  edgeNonce: randomBytes(32).toString('hex'),
});

/** The keys as the private route takes them. */
export const toInitKeys = ({
  accessToken,
  edgeNonce,
}: AgentKeys): Pick<AgentInit, 'accessTokenSha256' | 'edgeNonce'> => ({
  ...(accessToken !== undefined && { accessTokenSha256: hashToken(accessToken) }),
  edgeNonce,
});
