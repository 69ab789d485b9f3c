import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { callCancellable, createCancellableCalls } from './cancellable-calls.ts';

const untilAborted = (signal: AbortSignal) =>
  new Promise<string>((resolve) => {
    const end = (): void => resolve('undone');
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });

/** The calls of a client, which the server begins `turns` of the event loop after they were made. */
const open = ({ turns }: { turns: number }) => {
  const calls = createCancellableCalls();
  const connection = new AbortController();
  const cancelled: boolean[] = [];
  return {
    connection,
    cancelled,
    call: (work: (signal: AbortSignal) => Promise<string>, signal?: AbortSignal) =>
      callCancellable(
        async (id) => {
          for (let turned = 0; turned < turns; turned++) await turn();
          return calls.run(id, { signal: connection.signal }, work);
        },
        {
          signal,
          cancel: async (id) => {
            await turn();
            const found = calls.cancel(id);
            cancelled.push(found);
            return found;
          },
        },
      ),
  };
};

describe('a call that can be cancelled', () => {
  it('settles as its work does', async () => {
    const { call, cancelled } = open({ turns: 0 });
    const controller = new AbortController();
    expect(await call(async () => 'made', controller.signal)).toBe('made');
    const failing = call(() => Promise.reject(new Error('full')), controller.signal);
    await expect(failing).rejects.toThrow('full');
    controller.abort();
    expect(cancelled).toEqual([]);
  });

  it.each([0, 5])(
    'is cancelled by a signal that has aborted, when it begins %i turns later',
    async (turns) => {
      const { call, cancelled } = open({ turns });
      expect(await call(untilAborted, AbortSignal.abort())).toBe('undone');
      expect(cancelled.at(-1)).toBe(true);
      expect(cancelled.filter(Boolean)).toHaveLength(1);
    },
  );

  it('is not cancelled again when it ended before the cancel', async () => {
    const { call, cancelled } = open({ turns: 0 });
    const controller = new AbortController();
    const made = call(async () => 'made', controller.signal);
    controller.abort();
    expect(await made).toBe('made');
    await turn();
    await turn();
    expect(cancelled).toEqual([false]);
  });

  it('is cancelled by the end of its connection, before it begins or later', async () => {
    const { call, connection } = open({ turns: 1 });
    const pending = call(untilAborted);
    await turn();
    connection.abort();
    expect(await pending).toBe('undone');
    expect(await call(untilAborted)).toBe('undone');
  });
});
