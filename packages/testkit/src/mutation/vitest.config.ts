import { defineConfig } from 'vitest/config';

/** The tests of the groups that `main.ts` was called for. */
export default defineConfig({
  test: {
    include: JSON.parse(process.env.SKERRY_MUTATION_TESTS ?? '[]') as string[],
    testTimeout: 10_000,
    expect: { poll: { timeout: 5_000 } },
  },
});
