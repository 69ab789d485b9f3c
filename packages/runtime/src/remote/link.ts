import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { RuntimeError, RuntimeLostError } from '../error.ts';
import { type Connection, createConnection } from './connection.ts';

export interface Link {
  /**
   * Calls on it connect where there is no connection. They reject with `RuntimeLostError` when the connection cannot be made or
   * ends before the answer, and with `unavailable` once the link is closed.
   */
  readonly transport: Transport;
  /** Connects where there is no connection and one is wanted, until it is there or none is wanted any more. Never rejects. */
  connect(): Promise<void>;
  close(): Promise<void>;
}

/** Whether Node has closed the stream: neither side meant that as an answer. */
function isReset({ code, cause }: ConnectError): boolean {
  if ([Code.Canceled, Code.Aborted, Code.Unavailable].includes(code)) return true;
  return /^ERR_HTTP2_/.test((cause as NodeJS.ErrnoException | undefined)?.code ?? '');
}

/** One connection at a time to the process that `dial` reaches, made again after its end. */
export function createLink(options: {
  /** Gives a connected socket. */
  dial: () => Promise<Socket>;
  /** Called with each connection, before the calls that wait for it. The connection is of no use when that resolves, and is closed. */
  onConnect: (transport: Transport) => Promise<void>;
  /** Whether a connection is made again before the next call. */
  isWanted: () => boolean;
}): Link {
  let connection: Promise<Connection> | undefined;
  let isClosed = false;

  const open = async (): Promise<Connection> => {
    let hasEnded = false;
    const made = await createConnection(await options.dial(), {
      onEnd: () => {
        hasEnded = true;
        connection = undefined;
        void connect();
      },
    });
    if (hasEnded) throw new Error('the other side has ended');
    void options.onConnect(made.transport).then(() => made.close());
    return made;
  };

  const acquire = (): Promise<Connection> => {
    if (isClosed) return Promise.reject(new RuntimeError('unavailable', 'the runtime is closed'));
    if (connection) return connection;
    const opening = open().catch((error: unknown) => {
      // One that ended while it was made may have a successor by now.
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
        // Told to those who call; here it only means: later.
        await setTimeout(delayMs, undefined, { ref: false });
      }
    }
  };

  /** The error of a call: that of the other side, of the caller's own signal, or the loss of the connection. */
  const toFailure = async (
    error: unknown,
    on: Connection,
    signal: AbortSignal | undefined,
  ): Promise<unknown> => {
    const failure = ConnectError.from(error);
    if (failure.details.length > 0 || signal?.aborted) return error;
    // A stream may be closed before its connection is.
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
      // A connection that could not be made has told its callers, and there is nothing of it to close.
      (await last?.catch(() => undefined))?.close();
    },
  };
}
