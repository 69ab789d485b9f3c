import { expect, it } from 'vitest';
import { readConnectionLimit, toConnectionLimit } from './connection-limit.ts';
import { OPEN_NETWORK } from './policy.ts';
import { toGuestRules, toHostRules } from './rules.ts';

it('leaves room in the table of the host when a hundred sandboxes take all they can', () => {
  for (const size of [16_384, 65_536, 262_144, 1_048_576, 4_194_304]) {
    expect(toConnectionLimit(size) * 100, String(size)).toBeLessThanOrEqual(size * 0.8);
    expect(toConnectionLimit(size)).toBeGreaterThanOrEqual(128);
  }
});

it('is what the rules of a sandbox and of the host say', () => {
  const limit = `ct count over ${readConnectionLimit()} `;
  expect(toGuestRules({ resolvers: [], policy: OPEN_NETWORK })).toContain(limit);
  expect(toHostRules({ resolvers: [] })).toContain(limit);
});
