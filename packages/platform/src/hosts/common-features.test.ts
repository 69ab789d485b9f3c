import type { Features } from '@skerry/runtime';
import { expect, it } from 'vitest';
import { createCommonFeatures } from './common-features.ts';

const both = {
  pause: { memory: true, filesystem: true },
  snapshot: { memory: true, filesystem: true },
};
const node = (change: Partial<Features>): Features => ({
  ...{ level: 'container', minimumLevel: 'container', levels: { container: both }, programs: true },
  ...{ ...both, imageExport: true, network: true, nameRules: true },
  limits: { cpu: true, memory: true, disk: true, processes: true },
  ...change,
});

it('a fleet has the strongest default and minimum of its nodes, and the strongest default there is before one answers', () => {
  const nodes: Features[] = [];
  const features = createCommonFeatures(() => nodes);
  expect(features).toMatchObject({ level: 'gvisor', levels: { container: both, gvisor: both } });
  nodes.push(node({}));
  expect(features).toMatchObject({ level: 'container', levels: { container: both } });
  nodes.push(node({ level: 'gvisor', minimumLevel: 'gvisor', levels: { gvisor: both } }));
  expect(features).toMatchObject({ level: 'gvisor', minimumLevel: 'gvisor' });
  expect(Object.keys(features.levels)).toEqual(['container', 'gvisor']);
  expect(features.nameRules).toBe(true);
  nodes.push(node({ nameRules: false }));
  expect(features.nameRules).toBe(false);
});
