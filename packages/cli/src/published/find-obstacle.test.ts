import { expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { findObstacle } from './find-obstacle.ts';

const host = { platform: 'linux', arch: 'x64', version: 'v24.21.0' } as const;

it('finds no obstacle on a supported host', () => {
  expect(findObstacle(manifest, host)).toBeUndefined();
});

it.each([
  [{ arch: 'arm64' }, 'linux on x64 is needed, and this is linux on arm64'],
  [{ platform: 'darwin', arch: 'arm64' }, 'linux on x64 is needed, and this is darwin on arm64'],
  [{ version: 'v22.23.4' }, `Node ${manifest.engines.node} is needed, and this is v22.23.4`],
] as const)('names in one line what is wrong with %o', (differences, obstacle) => {
  expect(findObstacle(manifest, { ...host, ...differences })).toBe(obstacle);
});
