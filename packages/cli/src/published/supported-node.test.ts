import { expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { isSupported } from './supported-node.ts';

it.each(['v24.0.0', 'v24.22.3', 'v27.1.0'])('runs on Node %s', (version) => {
  expect(isSupported(version, '>=24')).toBe(true);
});

it.each(['v18.20.0', 'v20.20.2', 'v22.23.4', 'v23.11.0'])('refuses Node %s', (version) => {
  expect(isSupported(version, '>=24')).toBe(false);
});

it('reads the range of the published package, and throws on other forms', () => {
  expect(isSupported(process.version, manifest.engines.node)).toBe(true);
  expect(() => isSupported('v24.0.0', '22.x')).toThrow('22.x');
});
