import type { Socket } from 'node:net';
import { RuntimeError, RuntimeLostError } from '../error.ts';
import { readLines } from './lines.ts';
import {
  type Item,
  type Message,
  type Method,
  maxMessageBytes,
  type Params,
  type Result,
} from './protocol.ts';

export interface CallOptions {
  /** Cancels the call on the other side. The promise still waits for the reply: by then all it made is gone. */
  signal?: AbortSignal | undefined;
  onItem?: (item: Item) => void;
}

/** The connection had ended before the other side could have read the call: nobody has acted on it. */
export class UnsentError extends RuntimeLostError {
  constructor(cause: Error | undefined) {
    super('the connection to the runtime had ended', { cause });
  }
}

export interface Connection {
  /**
   * Rejects with the error of the other side, or with `unavailable` when the connection ends first; with an `UnsentError` where
   * it had ended before.
   */
  call<M extends Method>(method: M, params: Params<M>, options?: CallOptions): Promise<Result<M>>;
  close(): void;
}

interface Pending {
  resolve: (result: unknown) => void;
  reject: (error: RuntimeError) => void;
  onItem?: ((item: Item) => void) | undefined;
  isUnsent: boolean;
}

/** Speaks the protocol on a connected socket, which it takes over. Its end must not have been told yet. */
export function createConnection(
  socket: Socket,
  events: { onExit: (instance: string, runId: string) => void; onClose: () => void },
): Connection {
  const pending = new Map<number, Pending>();
  const { promise: closed, resolve: tellClosed } = Promise.withResolvers<void>();
  let lastId = 0;
  let failure: Error | undefined;

  const send = <M extends Method>(id: number, method: M, params: Params<M>): void => {
    const setUnsent = (): void => {
      const call = pending.get(id);
      if (call) call.isUnsent = true;
    };
    // Whoever does not get the end of a line does nothing about its beginning.
    if (socket.writable)
      socket.write(`${JSON.stringify({ id, method, ...params })}\n`, (error) => error && setUnsent());
    else setUnsent();
  };

  readLines(socket, {
    maxBytes: maxMessageBytes,
    onLine: (line) => {
      const message = JSON.parse(line) as Message;
      if ('event' in message) return events.onExit(message.instance, message.runId);
      const call = pending.get(message.id);
      if ('item' in message) return call?.onItem?.(message.item);
      pending.delete(message.id);
      if ('error' in message) call?.reject(new RuntimeError(message.error.code, message.error.message));
      else call?.resolve(message.result);
    },
  });
  socket.on('error', (error) => {
    failure = error;
  });
  socket.on('close', () => {
    for (const { reject, isUnsent } of pending.values())
      reject(isUnsent ? new UnsentError(failure) : ended(failure));
    pending.clear();
    events.onClose();
    tellClosed();
  });

  return {
    call: <M extends Method>(method: M, params: Params<M>, { signal, onItem }: CallOptions = {}) => {
      if (socket.closed) {
        // Not before others know that, a turn of the event loop later: whoever calls again is to be given another connection.
        return closed.then((): never => {
          throw new UnsentError(failure);
        });
      }
      const id = ++lastId;
      const cancel = (): void => send(++lastId, 'cancel', { request: id });
      const reply = new Promise<unknown>((resolve, reject) =>
        pending.set(id, { resolve, reject, onItem, isUnsent: false }),
      );
      send(id, method, params);
      signal?.addEventListener('abort', cancel, { once: true });
      if (signal?.aborted) cancel();
      return reply.finally(() => signal?.removeEventListener('abort', cancel)) as Promise<Result<M>>;
    },
    close: () => socket.destroy(),
  };
}

const ended = (cause: Error | undefined): RuntimeError =>
  new RuntimeLostError('the connection to the runtime ended', { cause });
