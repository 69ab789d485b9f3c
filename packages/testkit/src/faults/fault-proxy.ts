import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface FaultCounts {
  connections: number;
  forwardedBytes: number;
  delays: number;
  /** Runs of single bytes, each in a packet of its own. */
  splits: number;
  stalls: number;
  resets: number;
}

export interface FaultProxy extends AsyncDisposable {
  /** The port of 127.0.0.1. */
  readonly port: number;
  readonly counts: FaultCounts;
}

export interface FaultProxyOptions {
  target: { host: string; port: number };
  /** Decides where and what. How bytes fall into packets has a say too, so one seed gives similar runs, not equal ones. */
  random: () => number;
  /** How many bytes flow between two faults, on average. */
  meanGapBytes: number;
}

const MAX_DELAY_MS = 30;
const STALL_MS = { min: 200, max: 900 };
const MAX_SINGLE_BYTES = 200;

/** A TCP proxy that delays, splits into single bytes, stalls and resets in both directions, and changes not one byte. */
export const createFaultProxy = async ({
  target,
  random,
  meanGapBytes,
}: FaultProxyOptions): Promise<FaultProxy> => {
  const counts: FaultCounts = {
    connections: 0,
    forwardedBytes: 0,
    delays: 0,
    splits: 0,
    stalls: 0,
    resets: 0,
  };
  const sockets = new Set<Socket>();
  /** Exponential, so that a fault may come at any byte. */
  const drawGap = (): number => Math.ceil(-Math.log(1 - random()) * meanGapBytes);
  let gapBytes = drawGap();

  const send = async (to: Socket, bytes: Buffer): Promise<void> => {
    counts.forwardedBytes += bytes.length;
    if (bytes.length > 0 && !to.write(bytes)) await once(to, 'drain');
  };

  /** Does one fault in front of `bytes` and returns what is still to be sent, or undefined when the connection is gone. */
  const disturb = async (from: Socket, to: Socket, bytes: Buffer): Promise<Buffer | undefined> => {
    const kind = random();
    if (kind < 0.4) {
      counts.delays += 1;
      await delay(random() * MAX_DELAY_MS);
    } else if (kind < 0.85) {
      counts.splits += 1;
      const length = Math.min(bytes.length, 1 + Math.floor(random() * MAX_SINGLE_BYTES));
      for (let at = 0; at < length; at += 1) {
        await send(to, bytes.subarray(at, at + 1));
        await new Promise(setImmediate);
      }
      return bytes.subarray(length);
    } else if (kind < 0.92) {
      counts.stalls += 1;
      await delay(STALL_MS.min + random() * (STALL_MS.max - STALL_MS.min));
    } else {
      counts.resets += 1;
      from.resetAndDestroy();
      to.resetAndDestroy();
      return undefined;
    }
    return bytes;
  };

  const forward = async (from: Socket, to: Socket): Promise<void> => {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      let rest: Buffer | undefined = chunk;
      while (rest !== undefined && rest.length > gapBytes) {
        await send(to, rest.subarray(0, gapBytes));
        rest = rest.subarray(gapBytes);
        gapBytes = drawGap();
        rest = await disturb(from, to, rest);
      }
      if (rest === undefined) return;
      gapBytes -= rest.length;
      await send(to, rest);
    }
    to.end();
  };

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    counts.connections += 1;
    const upstream = connect({ ...target, noDelay: true, allowHalfOpen: true });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.once('close', () => {
        sockets.delete(from);
        // A writer that waits for 'drain' of a closed socket would wait for ever.
        if (!to.destroyed && from.errored !== null) to.resetAndDestroy();
        from.emit('drain');
      });
      // The iterating reader gets the error; on a socket without a reader it must not end the program.
      from.on('error', () => undefined);
      forward(from, to).catch(() => {
        from.destroy();
        to.resetAndDestroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    counts,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
