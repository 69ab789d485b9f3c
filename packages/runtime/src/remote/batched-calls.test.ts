import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { RuntimeError, RuntimeLostError } from '../error.ts';
import { createBatchedCalls } from './batched-calls.ts';
import type { Target } from './messages.ts';

const toTarget = (number: number): Target => ({ instance: `i${number}`, birthId: `b${number}` });

/** Instances 0 to 9 are found, and their number is the answer. */
const record = (failure?: Error) => {
  const calls = { one: [] as string[], many: [] as number[] };
  const ask = createBatchedCalls({
    one: async ({ instance }) => {
      calls.one.push(instance);
      if (instance.length > 2) throw new RuntimeError('not_found', instance);
      return Number(instance.slice(1));
    },
    many: async (targets) => {
      calls.many.push(targets.length);
      if (failure) throw failure;
      const found = targets.filter(({ instance }) => instance.length === 2);
      return new Map(found.map(({ instance, birthId }) => [birthId, Number(instance.slice(1))]));
    },
  });
  return { ask, calls };
};

describe('batched calls', () => {
  it('asks once about all that are asked about at the same moment, and by itself about one that was left out', async () => {
    const { ask, calls } = record();
    const [first, second, gone] = await Promise.allSettled([1, 2, 77].map((one) => ask(toTarget(one))));
    expect(first).toMatchObject({ value: 1 });
    expect(second).toMatchObject({ value: 2 });
    expect(gone).toMatchObject({ reason: { code: 'not_found', message: 'i77' } });
    expect(calls).toEqual({ many: [3], one: ['i77'] });
  });

  it('asks by itself about one', async () => {
    const { ask, calls } = record();
    expect(await ask(toTarget(3))).toBe(3);
    expect(calls).toEqual({ many: [], one: ['i3'] });
  });

  it.each([
    ['the connection is lost', new RuntimeLostError('lost'), 'unavailable'],
    ['the answer is a failure', new ConnectError('it failed', Code.Internal), 'internal'],
  ])('asks no more when %s', async (_, failure, code) => {
    const { ask, calls } = record(failure);
    const asked = await Promise.allSettled([1, 2].map((one) => ask(toTarget(one))));
    expect(asked).toMatchObject([{ reason: { code } }, { reason: { code } }]);
    expect(calls).toEqual({ many: [2], one: [] });
  });

  it('asks about no more than fit into a request', async () => {
    const { ask, calls } = record();
    await Promise.allSettled(Array.from({ length: 250 }, (_, number) => ask(toTarget(number % 10))));
    expect(calls.many).toEqual([100, 100, 50]);
  });
});
