import { defineConfig } from 'vitest/config';

/**
 * Three projects: `unit` needs only files and loopback, `drivers` runs the runtime's suite on every driver of this host,
 * `stack` starts the real service and drives it through the generated clients.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.ts',
            'scripts/**/*.test.ts',
            'bench/src/**/*.test.ts',
            '*.test.ts',
          ],
          exclude: ['packages/testkit/**', '**/*.driver.test.ts', '**/node_modules/**'],
          testTimeout: 30_000,
          // One less than there are processors would be one on a small machine, where some of these tests wait for a minute.
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'drivers',
          include: ['packages/runtime/src/**/*.driver.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'stack',
          include: ['packages/testkit/src/**/*.test.ts'],
          globalSetup: 'packages/testkit/src/shared-stack-setup.ts',
          testTimeout: 60_000,
          hookTimeout: 240_000,
          expect: { poll: { timeout: 5_000 } },
          // More than there are processors on a small machine: many of these tests wait.
          maxWorkers: 3,
        },
      },
    ],
  },
});
