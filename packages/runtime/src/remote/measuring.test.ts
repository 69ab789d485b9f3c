import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { RuntimeError } from '../error.ts';
import { ListUsageResponse_MeasuredSchema } from '../gen/skerry/runtime/v1/runtime_pb.ts';
import type { Usage } from '../runtime.ts';
import { createMeasuring } from './measuring.ts';
import type { Target } from './messages.ts';

const usage: Usage = {
  cpuTimeMs: 1,
  memoryBytes: 2,
  cacheBytes: 3,
  diskBytes: 4,
  freeDiskBytes: 5,
  processCount: 6,
};
const toTarget = (number: number): Target => ({ instance: `i${number}`, birthId: `b${number}` });

/** Instances 0 to 9 can be measured, and their number is their processor time. */
const record = (options: { hasMany: boolean }) => {
  const calls = { one: [] as string[], many: [] as number[] };
  const measure = createMeasuring({
    one: async ({ instance }) => {
      calls.one.push(instance);
      if (instance.length > 2) throw new RuntimeError('not_found', instance);
      return { ...usage, cpuTimeMs: Number(instance.slice(1)) };
    },
    many: async (targets) => {
      calls.many.push(targets.length);
      if (!options.hasMany) throw new RuntimeError('internal', 'no such call');
      return targets
        .filter(({ instance }) => instance.length === 2)
        .map(({ instance, birthId }) =>
          create(ListUsageResponse_MeasuredSchema, {
            birthId,
            usage: { cpuTimeMs: Number(instance.slice(1)), memoryBytes: 2n },
          }),
        );
    },
  });
  return { measure, calls };
};

describe('measuring', () => {
  it('asks once for all that are asked for at the same moment, and by itself for one that was left out', async () => {
    const { measure, calls } = record({ hasMany: true });
    const [first, second, gone] = await Promise.allSettled([1, 2, 77].map((one) => measure(toTarget(one))));
    expect(first).toMatchObject({ value: { cpuTimeMs: 1, memoryBytes: 2 } });
    expect(second).toMatchObject({ value: { cpuTimeMs: 2 } });
    expect(gone).toMatchObject({ reason: { code: 'not_found', message: 'i77' } });
    expect(calls).toEqual({ many: [3], one: ['i77'] });
  });

  it('asks by itself for one', async () => {
    const { measure, calls } = record({ hasMany: true });
    expect(await measure(toTarget(3))).toEqual({ ...usage, cpuTimeMs: 3 });
    expect(calls).toEqual({ many: [], one: ['i3'] });
  });

  it('asks for each when the other side cannot list', async () => {
    const { measure, calls } = record({ hasMany: false });
    const measured = await Promise.all([1, 2].map((one) => measure(toTarget(one))));
    expect(measured.map(({ cpuTimeMs }) => cpuTimeMs)).toEqual([1, 2]);
    expect(calls).toEqual({ many: [2], one: ['i1', 'i2'] });
  });

  it('asks for no more than fit into a request', async () => {
    const { measure, calls } = record({ hasMany: true });
    await Promise.allSettled(Array.from({ length: 250 }, (_, number) => measure(toTarget(number % 10))));
    expect(calls.many).toEqual([100, 100, 50]);
  });
});
