import { Agent, type AgentOptions, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { callbackify } from 'node:util';
import type { Route } from '@skerry/contract/directory';
import { RecycledReads } from '@skerry/contract/recycled-reads';
import { type Client, reset } from './client.ts';
import { secureConnection } from './ports/secured-port.ts';
import type { Target } from './target.ts';

/** Delays between attempts on a port that refuses: a server inside that is starting has a second to listen. */
const retryPausesMs = [50, 100, 200, 300, 350];

/** How long an idle connection is kept when the server inside does not announce its keep-alive time. */
const unusedMs = 1500;

/** The connections of the edge that serve one run of one sandbox, on both sides. Never shared with another run. */
export interface Run {
  /** Pools connections to the ports of this run; `port` of a request's options distinguishes them. */
  readonly agent: Agent;
  /** Aborted when the run has ended. */
  readonly ended: AbortSignal;
  /** Records that a client waits for a response from this run: its connection is reset if the run ends before that is done. */
  track(client: Client): Waiting;
  /** The number of clients that wait now. */
  underWay(): number;
  /** Ends every connection. The edge may end before the sandbox does: then `onEnd` of a client is not called. */
  end(options: { hasSandboxEnded: boolean }): void;
}

/** A client that waits for the end of its response. */
export interface Waiting {
  /** The response is complete, or no longer of this run. */
  done(): void;
  /** Called instead of the reset when the sandbox has ended. Returns false when the reset is needed after all. */
  onEnd: (() => boolean) | undefined;
  /** `onEnd` has completed the response, which is still under way to the client. */
  isCompleted: boolean;
}

/** The runs that have or had traffic, by sandbox id and run id. */
export interface Upstreams {
  of(target: Target, route: Route): Run;
  end(sandboxId: string, runId: string): void;
  endAll(): void;
  /** The number of clients of all runs that wait now. */
  underWay(): number;
}

export const createUpstreams = (): Upstreams => {
  const runs = new Map<string, Run>();
  return {
    of(target, route) {
      const key = `${target.sandboxId}/${route.runId}`;
      let run = runs.get(key);
      if (run === undefined) {
        run = createRun(route);
        runs.set(key, run);
      }
      return run;
    },
    end(sandboxId, runId) {
      const key = `${sandboxId}/${runId}`;
      runs.get(key)?.end({ hasSandboxEnded: true });
      runs.delete(key);
    },
    underWay: () => [...runs.values()].reduce((sum, run) => sum + run.underWay(), 0),
    endAll() {
      for (const run of runs.values()) run.end({ hasSandboxEnded: false });
      runs.clear();
    },
  };
};

const createRun = (route: Route): Run => {
  const controller = new AbortController();
  // One entry for each request, because one connection can carry several open requests.
  const waiting = new Set<Waiting & { client: Client }>();
  // The HTTP agent follows a server inside that announces a shorter keep-alive.
  const agent = new RunAgent({ keepAlive: true, timeout: unusedMs }, route, controller.signal);
  return {
    agent,
    ended: controller.signal,
    track(client) {
      const entry = {
        client,
        onEnd: undefined,
        isCompleted: false,
        done: () => void waiting.delete(entry),
      };
      waiting.add(entry);
      return entry;
    },
    underWay: () => waiting.size,
    end({ hasSandboxEnded }) {
      controller.abort();
      // A reset, not a proper end: clients take a proper end for a protocol error instead of a killed sandbox.
      for (const entry of waiting) {
        entry.isCompleted = hasSandboxEnded && entry.onEnd?.() === true;
        if (!entry.isCompleted) reset(entry.client);
      }
      waiting.clear();
      agent.destroy();
    },
  };
};

/** Whether an error means that no server listens on the port. */
export const isRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'refused';

const readers = new WeakMap<Duplex, RecycledReads>();

/** Decides where a connection of a run reads to; undefined before its first bytes, and for one that has no such choice. */
export const readerOf = (connection: Duplex): RecycledReads | undefined => {
  const reader = readers.get(connection);
  return reader?.isUsed ? reader : undefined;
};

class RunAgent extends Agent {
  readonly #route: Route;
  readonly #ended: AbortSignal;

  constructor(options: AgentOptions, route: Route, ended: AbortSignal) {
    super(options);
    this.#route = route;
    this.#ended = ended;
  }

  override createConnection(
    options: ClientRequestArgs,
    callback?: (error: Error | null, connection: Duplex) => void,
  ): undefined {
    if (callback !== undefined) callbackify(() => this.#dial(Number(options.port)))(callback);
  }

  async #dial(port: number): Promise<Duplex> {
    const signal = this.#ended;
    for (const pauseMs of retryPausesMs) {
      try {
        return await this.#connect(port);
      } catch (error) {
        if (!isRefused(error)) throw error;
      }
      await delay(pauseMs, undefined, { signal });
    }
    return this.#connect(port);
  }

  async #connect(port: number): Promise<Duplex> {
    const isSecured = this.#route.ports.httpsPorts?.includes(port) === true;
    const connection = isSecured ? await this.#openSecured(port) : await this.#open(port);
    if (!this.#ended.aborted) return connection;
    connection.destroy();
    throw new Error('the run has ended');
  }

  async #open(port: number): Promise<Duplex> {
    const reader = new RecycledReads();
    const connection = await this.#route.connect(port, { signal: this.#ended, reader });
    readers.set(connection, reader);
    return connection;
  }

  async #openSecured(port: number): Promise<Duplex> {
    const signal = this.#ended;
    return secureConnection(await this.#route.connect(port, { signal }), signal);
  }
}
