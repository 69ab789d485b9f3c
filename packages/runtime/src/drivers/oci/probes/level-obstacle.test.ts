import { expect, it } from 'vitest';
import { findLevelObstacle } from './level-obstacle.ts';

const onHostWith =
  (...names: string[]) =>
  (name: string) =>
    names.includes(name) ? `/usr/bin/${name}` : undefined;

it.each([
  { level: 'container', rootless: true, programs: ['runc'], obstacle: undefined },
  { level: 'container', rootless: false, programs: [], obstacle: 'it needs crun: apt-get install -y crun' },
  { level: 'gvisor', rootless: false, programs: ['apt-get'], obstacle: undefined },
  { level: 'gvisor', rootless: false, programs: ['runsc'], obstacle: undefined },
  { level: 'gvisor', rootless: true, programs: ['runsc'], obstacle: 'it needs root' },
  {
    level: 'gvisor',
    rootless: false,
    programs: ['crun'],
    obstacle: 'it needs runsc, which only apt-get can fetch here',
  },
] as const)('finds $obstacle against $level with $programs, rootless $rootless', ({ obstacle, ...host }) => {
  expect(findLevelObstacle(host.level, { rootless: host.rootless, find: onHostWith(...host.programs) })).toBe(
    obstacle,
  );
});
