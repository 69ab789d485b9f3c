import { afterEach, expect, it, vi } from 'vitest';
import { findMissing } from './known-skips.ts';

afterEach(() => vi.unstubAllEnvs());

const ofMemory = 'packages/runtime/src/drivers/oci/criu/fork.driver.test.ts > a copy runs on';

it('knows what the driver in memory never runs', () => {
  const file = 'packages/runtime/src/drivers/memory/memory.driver.test.ts';
  expect(findMissing(`${file} > memory runs a program`)).toMatch(/programs/);
});

it('takes a skipped test for a failure unless the host is said to lack what it needs', () => {
  vi.stubEnv('SKERRY_TEST_WITHOUT', '');
  expect(findMissing(ofMemory)).toBeUndefined();
  vi.stubEnv('SKERRY_TEST_WITHOUT', 'other,memory');
  expect(findMissing(ofMemory)).toMatch(/CRIU/);
  expect(findMissing('packages/platform/src/app.test.ts > x')).toBeUndefined();
  expect(findMissing('packages/testkit/src/sandboxes/pause.test.ts > x')).toBeUndefined();
});

it('looks up what can be looked up', () => {
  const line = 'packages/runtime/src/rootless/user-manager.test.ts > asks';
  vi.stubEnv('PATH', '/nonexistent');
  expect(findMissing(line)).toBe('busctl');
  vi.stubEnv('PATH', '/nonexistent:/usr/bin:/bin');
  expect(findMissing(line)).toBeUndefined();
});
