import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/** How a command in a guest ended. */
export interface GuestResult {
  /** Null when its time was up. */
  status: number | null;
  /** Both streams, as they came. */
  output: string;
}

/** Commands to the agent of one guest. */
export interface GuestChannel {
  /** Resolves when the agent has started the next time, or the first. */
  untilBooted(options: { signal: AbortSignal }): Promise<void>;
  /** Runs a program as root. Rejects when the guest ends or boots anew meanwhile. */
  run(argv: readonly string[], options: { timeoutMs: number }): Promise<GuestResult>;
  close(): void;
}

type Message = { boot: string } | { id: number; text: string } | { id: number; exit: number | null };

interface Pending {
  output: string;
  end: (result: GuestResult) => void;
  fail: (error: Error) => void;
}

/** What an agent that is out of reach is given beside the time of the command. */
const GRACE_MS = 30_000;

/** Connects to the socket that QEMU opens at `path`, and resolves with the channel. Rejects when `signal` is aborted. */
export async function openGuestChannel(
  path: string,
  { signal }: { signal: AbortSignal },
): Promise<GuestChannel> {
  const socket = await connect(path, signal);
  const pending = new Map<number, Pending>();
  let lastId = 0;
  let boots = 0;
  let awaitedBoots = 1;
  let onBoot = (): void => {};
  const failAll = (reason: string): void => {
    for (const { fail } of pending.values()) fail(new Error(reason));
    pending.clear();
  };
  const receive = (message: Message): void => {
    if ('boot' in message) {
      failAll('the guest booted before the command ended');
      boots += 1;
      onBoot();
      return;
    }
    const command = pending.get(message.id);
    if (!command) return; // The command is no longer waited for.
    if ('text' in message) {
      command.output += message.text;
      return;
    }
    pending.delete(message.id);
    command.end({ status: message.exit, output: command.output });
  };
  createInterface({ input: socket }).on('line', (line) => receive(JSON.parse(line) as Message));
  socket.on('error', () => undefined); // The close that follows tells.
  socket.on('close', () => failAll('the guest ended before the command did'));
  return {
    async untilBooted({ signal: limit }) {
      if (boots < awaitedBoots) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        onBoot = resolve;
        limit.addEventListener('abort', () => reject(limit.reason as Error), { once: true });
        socket.once('close', () => reject(new Error('the guest ended before its agent started')));
        await promise;
      }
      awaitedBoots = boots + 1;
    },
    async run(argv, { timeoutMs }) {
      lastId += 1;
      const id = lastId;
      const { promise, resolve: end, reject: fail } = Promise.withResolvers<GuestResult>();
      pending.set(id, { output: '', end, fail });
      const timer = setTimeout(() => receive({ id, exit: null }), timeoutMs + GRACE_MS);
      socket.write(`${JSON.stringify({ id, argv, timeout: timeoutMs / 1000 })}\n`);
      return promise.finally(() => clearTimeout(timer));
    },
    close: () => socket.destroy(),
  };
}

async function connect(path: string, signal: AbortSignal): Promise<Socket> {
  for (;;) {
    const socket = createConnection(path);
    try {
      await once(socket, 'connect', { signal });
      return socket;
    } catch (error) {
      socket.destroy();
      signal.throwIfAborted();
      const { code } = error as NodeJS.ErrnoException;
      // QEMU has not opened it yet.
      if (code !== 'ENOENT' && code !== 'ECONNREFUSED') throw error;
      await delay(100);
    }
  }
}
