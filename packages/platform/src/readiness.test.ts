import { RuntimeError, RuntimeLostError } from '@skerry/runtime';
import { createMemory } from '@skerry/runtime/memory';
import { expect, it } from 'vitest';
import { createOneMachine } from './hosts/one-machine.ts';
import { createFindMissing } from './readiness.ts';
import { createManualClock } from './testing/manual-clock.ts';

const none = async () => undefined;
const never = () => new Promise<never>(() => {});

it('asks for the parts once a second, for all probes together', async () => {
  const { clock, advance } = createManualClock();
  let asked = 0;
  const store = {
    findTemplate: async () => {
      asked += 1;
      return undefined;
    },
  };
  const find = createFindMissing({ store, hosts: { findMissing: async () => [] }, clock });
  expect(await Promise.all([find(), find(), find()])).toEqual([[], [], []]);
  expect(asked).toBe(1);
  advance(1_000);
  await find();
  expect(asked).toBe(2);
});

it('names a database that fails, and parts that do not answer in time', async () => {
  const { clock, advance } = createManualClock();
  const failing = createFindMissing({
    store: { findTemplate: () => Promise.reject(new Error('connection refused')) },
    hosts: { findMissing: async () => ['lease'] },
    clock,
  });
  expect(await failing()).toEqual(['database', 'lease']);
  const hanging = createFindMissing({ store: { findTemplate: none }, hosts: { findMissing: never }, clock });
  const found = hanging();
  await new Promise((resolve) => setImmediate(resolve));
  advance(2_000);
  expect(await found).toEqual(['driver']);
});

it('takes a driver that says what it has for one that works, and no other', async () => {
  const hostsWhoseDriverSays = (error: Error) => {
    const runtime = createMemory({ dataDir: '/nonexistent', agent: () => () => undefined });
    return createOneMachine({ runtime: { ...runtime, get: () => Promise.reject(error) } });
  };
  const says = (error: Error) => hostsWhoseDriverSays(error).findMissing();
  expect(await says(new RuntimeError('not_found', 'there is no instance none'))).toEqual([]);
  expect(await says(new RuntimeLostError('the helper died'))).toEqual(['driver']);
});
