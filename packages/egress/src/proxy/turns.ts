import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Takes the requests of one connection in turn. */
export interface Turns {
  /** Starts a request when the answers to those before it have ended. `response` is the answer to this one. */
  take(response: ServerResponse, start: () => void): void;
  /** Whether an answer has not ended. */
  isBusy(): boolean;
}

/** The most requests that may wait. Node reads on however many do, and those clients that send several at once send up to ten. */
export const MAX_WAITING = 16;

/** Ends the connection when too many requests wait. */
export const createTurns = (socket: Socket): Turns => {
  const waiting: { response: ServerResponse; start(): void }[] = [];
  let isBusy = false;
  const run = ({ response, start }: (typeof waiting)[number]): void => {
    isBusy = true;
    response.once('close', () => {
      isBusy = false;
      const next = waiting.shift();
      // After an answer that ends the connection no other can be sent.
      if (next !== undefined && socket.writable) run(next);
    });
    start();
  };
  return {
    take: (response, start) => {
      if (!isBusy) run({ response, start });
      else if (waiting.length < MAX_WAITING) waiting.push({ response, start });
      else socket.destroy();
    },
    isBusy: () => isBusy,
  };
};
