import type { IsolationLevel } from '@skerry/contract/isolation';
import { expect, it } from 'vitest';
import { createBuildNode } from './build-node.ts';
import type { ReachableNode } from './fleet-hosts.ts';

it('builds are made on one node that has their level, as long as it can', () => {
  const levels: Record<string, readonly IsolationLevel[]> = {
    a: ['container'],
    b: ['container', 'gvisor'],
  };
  const toBuilder = createBuildNode({
    candidates: (isolation = 'container') =>
      Object.entries(levels).map(([name, having]) => ({
        name,
        obstacle: having.includes(isolation) ? undefined : `has no isolation level ${isolation}`,
      })),
    reachable: () => Object.keys(levels).map((name) => ({ name }) as ReachableNode),
  });
  expect(toBuilder().name).toBe('a');
  expect(toBuilder('gvisor').name).toBe('b');
  expect(toBuilder().name).toBe('b');
  delete levels.b;
  expect(() => toBuilder('gvisor')).toThrow(
    'no node can build templates now: a has no isolation level gvisor',
  );
});
