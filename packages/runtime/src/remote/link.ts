import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { RuntimeError, RuntimeLostError } from '../error.ts';
import { type Connection, createConnection } from './connection.ts';

export interface Link {
  /**
   * A call connects if there is no connection. It rejects with `RuntimeLostError` when the connection cannot be made or ends
   * before the response, and with `unavailable` when the link is closed.
   */
  readonly transport: Transport;
  /** Connects if there is no connection, and retries until it succeeds or `isWanted` returns false. Never rejects. */
  connect(): Promise<void>;
  close(): Promise<void>;
}

/** Whether Node has closed the stream; neither side has sent this as a response. */
function isReset({ code, cause }: ConnectError): boolean {
  if ([Code.Canceled, Code.Aborted, Code.Unavailable].includes(code)) return true;
  return /^ERR_HTTP2_/.test((cause as NodeJS.ErrnoException | undefined)?.code ?? '');
}

/** Keeps at most one connection to the process that `dial` reaches, and connects again after its end. */
export function createLink(options: {
  /** Resolves with a connected socket. */
  dial: () => Promise<Socket>;
  /** Called with each new connection, before the calls that wait for it. When it resolves, the connection is closed. */
  onConnect: (transport: Transport) => Promise<void>;
  /** Whether to reconnect before the next call. */
  isWanted: () => boolean;
  /** Called with each connection that was made, and with its end. */
  onConnection?: (isConnected: boolean) => void;
}): Link {
  let connection: Promise<Connection> | undefined;
  let isClosed = false;

  const open = async (): Promise<Connection> => {
    let hasEnded = false;
    let isReported = false;
    const made = await createConnection(await options.dial(), {
      onEnd: () => {
        hasEnded = true;
        connection = undefined;
        if (isReported) options.onConnection?.(false);
        void connect();
      },
    });
    if (hasEnded) throw new Error('the other side has ended');
    isReported = true;
    options.onConnection?.(true);
    void options.onConnect(made.transport).then(() => made.close());
    return made;
  };

  const acquire = (): Promise<Connection> => {
    if (isClosed) return Promise.reject(new RuntimeError('unavailable', 'the runtime is closed'));
    if (connection) return connection;
    const opening = open().catch((error: unknown) => {
      // When it ended while it was being made, there may be a later connection by now.
      if (connection === opening) connection = undefined;
      throw new RuntimeLostError('the runtime cannot be reached', { cause: error });
    });
    connection = opening;
    return opening;
  };

  const acquireLive = async (): Promise<Connection> => {
    const present = await acquire();
    return (await present.hasEnded()) ? acquire() : present;
  };

  const connect = async (): Promise<void> => {
    for (let delayMs = 50; !isClosed && options.isWanted(); delayMs = Math.min(2 * delayMs, 5_000)) {
      try {
        await acquire();
        return;
      } catch {
        // Calls that need the connection reject with this error themselves. Here it is no more than the reason to wait.
        await setTimeout(delayMs, undefined, { ref: false });
      }
    }
  };

  /** Returns the error of a call: the response of the other process, the abort of the signal, or the loss of the connection. */
  const toFailure = async (
    error: unknown,
    on: Connection,
    signal: AbortSignal | undefined,
  ): Promise<unknown> => {
    const failure = ConnectError.from(error);
    if (failure.details.length > 0 || signal?.aborted) return error;
    // A stream may close before its connection does.
    if (!isReset(failure) && !(await on.hasEnded())) return error;
    return new RuntimeLostError('the connection to the runtime ended', { cause: error });
  };

  async function* readAll<T>(messages: AsyncIterable<T>, on: Connection, signal: AbortSignal | undefined) {
    try {
      yield* messages;
    } catch (error) {
      throw await toFailure(error, on, signal);
    }
  }

  return {
    transport: {
      unary: async (method, signal, ...rest) => {
        const on = await acquireLive();
        try {
          return await on.transport.unary(method, signal, ...rest);
        } catch (error) {
          throw await toFailure(error, on, signal);
        }
      },
      stream: async (method, signal, ...rest) => {
        const on = await acquireLive();
        try {
          const response = await on.transport.stream(method, signal, ...rest);
          return { ...response, message: readAll(response.message, on, signal) };
        } catch (error) {
          throw await toFailure(error, on, signal);
        }
      },
    },
    connect,
    close: async () => {
      const last = connection;
      isClosed = true;
      // When a connection could not be made, its calls have reported it, and there is nothing to close.
      (await last?.catch(() => undefined))?.close();
    },
  };
}
