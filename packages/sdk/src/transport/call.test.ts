import { expect, it } from 'vitest';
import { runCall } from './call.ts';

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });

it('rejects with "timeout" when the timeout expires', async () => {
  await expect(runCall({ requestTimeoutMs: 5 }, 60_000, untilAborted)).rejects.toMatchObject({
    code: 'timeout',
  });
});

it('uses the default when the timeout is undefined, and no timeout for 0', async () => {
  await expect(runCall({ requestTimeoutMs: undefined }, 5, untilAborted)).rejects.toMatchObject({
    code: 'timeout',
  });
  const answer = runCall(
    { requestTimeoutMs: 0 },
    1,
    () => new Promise((resolve) => setTimeout(resolve, 30, 'late')),
  );
  await expect(answer).resolves.toBe('late');
});

it('rejects with "canceled" and the reason when the signal aborts, also one that had aborted before', async () => {
  const reason = new Error('enough');
  const controller = new AbortController();
  const running = runCall({ signal: controller.signal }, 60_000, untilAborted);
  controller.abort(reason);
  await expect(running).rejects.toMatchObject({ code: 'canceled', cause: reason });
  const late = runCall({ signal: controller.signal }, 60_000, async (signal) => signal.throwIfAborted());
  await expect(late).rejects.toMatchObject({ code: 'canceled', cause: reason });
});

it('rejects with "connection_failed" when no server answers', async () => {
  const refused = runCall({}, 60_000, (signal) => fetch('http://127.0.0.1:2', { signal }));
  await expect(refused).rejects.toMatchObject({ code: 'connection_failed', retryable: false });
});
