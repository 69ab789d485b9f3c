import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Stack, type StackOptions, startStack } from '../../stack/stack.ts';

export type Victim = 'server' | 'helper';

/** A server over one data folder that is killed again and again, and comes back each time. */
export interface ServerKeeper {
  /** The server that runs now. While it is being started anew, waits for that. */
  current(): Promise<Stack>;
  /** How many kills there have been. What was begun before one and ended after it may have been cut off. */
  readonly kills: number;
  /** Ends the server, or the process of its own that holds the sandboxes, by SIGKILL. */
  kill(victim: Victim): Promise<void>;
}

export interface ServerKeeperOptions {
  /** How each server is started; with a `dataDir`. */
  server: StackOptions;
  /** Called with each server but the first, before any operation uses it. */
  onReturn?: (stack: Stack) => Promise<void>;
}

/** The helper of a server: the one child of it. */
export const findHelper = (stack: Stack): number =>
  Number(readFileSync(`/proc/${stack.pid}/task/${stack.pid}/children`, 'utf8').trim().split(' ')[0]);

/** Starts the first server. */
export const createServerKeeper = async ({
  onReturn,
  ...options
}: ServerKeeperOptions): Promise<ServerKeeper> => {
  // The run kills the helper more often than the default limit allows: no limit.
  const args = [...(options.server.args ?? []), '--max-helper-faults', '0'];
  const server: StackOptions = { ...options.server, args };
  let current = Promise.resolve(await startStack(server));
  let kills = 0;
  return {
    current: () => current,
    get kills() {
      return kills;
    },
    kill: async (victim) => {
      const stack = await current;
      if (victim === 'helper') {
        const pid = findHelper(stack);
        // None between the death of one and the first call after it: then there is no process to kill.
        if (pid > 0) process.kill(pid, 'SIGKILL');
        kills += 1;
        // What begins before its server has seen its end may still be sent to it.
        while (pid > 0 && findHelper(stack) === pid) await delay(1);
        kills += 1;
        return;
      }
      kills += 1;
      const again = async (): Promise<Stack> => {
        await stack.kill();
        // What began after the signal and before its end was cut off by it, too.
        kills += 1;
        const next = await startStack(server);
        await onReturn?.(next);
        return next;
      };
      current = again();
      await current;
    },
  };
};
