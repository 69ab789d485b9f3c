import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isSupported } from './supported-node.ts';

const range = '^22.15 || >=24';

it.each(['v22.15.0', 'v22.19.3', 'v24.0.0', 'v24.21.0', 'v27.1.0'])('runs on Node %s', (version) => {
  expect(isSupported(version, range)).toBe(true);
});

it.each(['v18.20.0', 'v20.20.2', 'v22.14.9', 'v23.11.0'])('refuses Node %s', (version) => {
  expect(isSupported(version, range)).toBe(false);
});

it('reads the range of the published package', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    engines: { node: string };
  };
  expect(isSupported(process.version, engines.node)).toBe(true);
  expect(() => isSupported('v24.0.0', '22.x')).toThrow('22.x');
});
