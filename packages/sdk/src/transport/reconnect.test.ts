import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type SandboxErrorCode, toSandboxError } from '../errors.ts';
import { createAgent } from './agent.ts';
import { createConnection } from './connection.ts';
import { type AttemptLimits, reconnect, withinSilence } from './reconnect.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

const broken = toSandboxError('connection_failed', 'the connection broke');

interface Attempts {
  /** What each attempt ends with, in turn; the last one repeats. */
  outcomes?: (SandboxErrorCode | 'open')[];
  deadlineMs?: number;
  requestTimeoutMs?: number;
  signal?: AbortSignal;
}

/** Begins to reconnect; no attempt takes any time. */
const begin = ({
  outcomes = ['connection_failed'],
  deadlineMs,
  requestTimeoutMs,
  signal = new AbortController().signal,
}: Attempts = {}) => {
  const startMs = Date.now();
  const attempts: ({ at: number } & AttemptLimits)[] = [];
  const domain = 'sandboxes.test';
  const connection = createConnection({
    apiKey: 'e2b_00',
    domain,
    ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
  });
  const agent = createAgent({ connection, sandboxId: 'i1', domain, accessToken: undefined });
  const result = reconnect({
    ...{ agent, signal, reason: broken },
    deadlineMs: deadlineMs === undefined ? undefined : startMs + deadlineMs,
    open: async (limits) => {
      attempts.push({ at: Date.now() - startMs, ...limits });
      const outcome = outcomes[attempts.length - 1] ?? outcomes.at(-1);
      if (outcome !== 'open') throw toSandboxError(outcome ?? 'internal', 'of an attempt');
      return attempts.length;
    },
  });
  const outcome = result.then(
    (value: unknown) => ({ value, at: Date.now() - startMs }),
    (error: unknown) => ({ error, at: Date.now() - startMs }),
  );
  return { attempts, outcome, signal };
};

describe('reconnect', () => {
  it('tries eight times at growing intervals, and fails with the reason of the broken connection', async () => {
    const { attempts, outcome } = begin();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(attempts.map(({ at }) => at)).toEqual([100, 300, 700, 1500, 3100, 5100, 7100, 9100]);
    const { error, at } = (await outcome) as { error: unknown; at: number };
    expect([error === broken, at]).toEqual([true, 9100]);
  });

  it('gives each attempt a request timeout of at most five seconds, and the stream no deadline', async () => {
    for (const [requestTimeoutMs, expected] of [
      [60_000, 5_000],
      [3_000, 3_000],
      [0, 5_000],
    ] as const) {
      const { attempts, outcome } = begin({ outcomes: ['open'], requestTimeoutMs });
      await vi.advanceTimersByTimeAsync(100);
      expect(await outcome).toEqual({ value: 1, at: 100 });
      expect(attempts).toEqual([{ at: 100, requestTimeoutMs: expected, timeoutMs: 0 }]);
    }
  });

  it('gives each attempt what is left until the deadline, and fails with "timeout" behind it', async () => {
    const { attempts, outcome } = begin({ deadlineMs: 699 });
    await vi.advanceTimersByTimeAsync(700);
    expect(attempts.map(({ timeoutMs }) => timeoutMs)).toEqual([599, 399]);
    expect(await outcome).toMatchObject({ error: { code: 'timeout', cause: broken }, at: 700 });
  });

  it('still tries at the moment of the deadline, with the least time there is', async () => {
    const { attempts, outcome } = begin({ deadlineMs: 100, outcomes: ['open'] });
    await vi.advanceTimersByTimeAsync(100);
    expect(await outcome).toEqual({ value: 1, at: 100 });
    expect(attempts[0]?.timeoutMs).toBe(1);
  });

  it('goes on while nothing answers or an attempt takes too long', async () => {
    const { outcome } = begin({ outcomes: ['connection_failed', 'timeout', 'connection_failed', 'open'] });
    await vi.advanceTimersByTimeAsync(1_500);
    expect(await outcome).toEqual({ value: 4, at: 1_500 });
  });

  it('fails at once when the sandbox has ended or the call was canceled, with that error', async () => {
    for (const code of ['sandbox_unavailable', 'canceled'] as const) {
      const { attempts, outcome } = begin({ outcomes: [code] });
      await vi.advanceTimersByTimeAsync(100);
      expect(await outcome).toMatchObject({ error: { code }, at: 100 });
      expect(attempts).toHaveLength(1);
    }
  });

  it('fails at once when the sandbox refuses, with the reason of the broken connection', async () => {
    for (const code of ['not_found', 'internal', 'unauthenticated'] as const) {
      const { attempts, outcome } = begin({ outcomes: [code] });
      await vi.advanceTimersByTimeAsync(100);
      const { error, at } = (await outcome) as { error: unknown; at: number };
      expect([error === broken, at]).toEqual([true, 100]);
      expect(attempts).toHaveLength(1);
    }
  });

  it('ends at once when the signal aborts while it waits, and leaves neither timer nor listener', async () => {
    const controller = new AbortController();
    const { attempts, outcome } = begin({ signal: controller.signal });
    await vi.advanceTimersByTimeAsync(250);
    const why = toSandboxError('canceled', 'enough');
    controller.abort(why);
    const { error, at } = (await outcome) as { error: unknown; at: number };
    expect([error === why, at, attempts.length, vi.getTimerCount()]).toEqual([true, 250, 1, 0]);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('makes no attempt when the signal has aborted before', async () => {
    const why = toSandboxError('canceled', 'enough');
    const { attempts, outcome } = begin({ signal: AbortSignal.abort(why) });
    const { error, at } = (await outcome) as { error: unknown; at: number };
    expect([error === why, at, attempts]).toEqual([true, 0, []]);
  });

  it('leaves no listener behind after the time has passed', async () => {
    const { outcome, signal } = begin({ outcomes: ['connection_failed', 'open'] });
    await vi.advanceTimersByTimeAsync(300);
    await outcome;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a message of a stream', () => {
  it('is passed on, as its failure is, and leaves no timer behind', async () => {
    expect(await withinSilence(Promise.resolve('message'))).toBe('message');
    await expect(withinSilence(Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('counts as lost after two and a half intervals of keepalives, and not before', async () => {
    let failure: unknown;
    void withinSilence(new Promise(() => undefined)).catch((error: unknown) => {
      failure = error;
    });
    await vi.advanceTimersByTimeAsync(124_999);
    expect(failure).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(failure).toMatchObject({
      code: 'connection_failed',
      message: expect.stringContaining('125000 ms'),
    });
  });
});
