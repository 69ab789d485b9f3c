import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongFilesFirst } from './scripts/long-files-first.ts';

// By itself vitest takes one less than there are, which is half of a small machine.
const processors = availableParallelism();

// Only ends a test that would wait for ever: what it waits for may take its time on a machine that is busy.
const expectOptions = { poll: { timeout: 20_000 } };

/**
 * Three projects: `unit` needs only files and loopback, `drivers` runs the runtime's suite on every driver of this host,
 * `stack` starts the real service and drives it through the generated clients.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongFilesFirst },
    // The server that the tests of the stack share is taken down in it.
    teardownTimeout: 120_000,
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
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: expectOptions,
          maxWorkers: processors,
        },
      },
      {
        test: {
          name: 'drivers',
          include: ['packages/runtime/src/**/*.driver.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          expect: expectOptions,
          maxWorkers: processors,
        },
      },
      {
        test: {
          name: 'stack',
          include: ['packages/testkit/src/**/*.test.ts'],
          globalSetup: 'packages/testkit/src/stack/shared-stack-setup.ts',
          // Of a machine with ten times as much to do. A test that hangs is ended, no more.
          testTimeout: 240_000,
          hookTimeout: 240_000,
          expect: expectOptions,
          // Most of these tests wait for longer than they work.
          maxWorkers: processors + 2,
        },
      },
    ],
  },
});
