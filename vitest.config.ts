import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongFilesFirst } from './scripts/long-files-first.ts';

// By itself vitest takes one less than there are, which is half of a small machine.
const processors = availableParallelism();

// How many times as long as usual tests may take: more than 1 where the machine is emulated.
const patience = Number(process.env.SKERRY_TEST_PATIENCE ?? 1);

// Only ends a test that would wait for ever: what it waits for may take its time on a machine that is busy.
const expectOptions = { poll: { timeout: 20_000 * patience } };

/**
 * Three projects: `unit` needs only files and loopback, `drivers` runs the runtime's suite on every driver of this host,
 * `stack` starts the real service and drives it through the generated clients.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongFilesFirst },
    // The server that the tests of the stack share is taken down in it.
    teardownTimeout: 120_000 * patience,
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
          // Of testkit, only what the lab is made of needs no sandboxes.
          exclude: [
            'packages/testkit/src/*.test.ts',
            'packages/testkit/src/!(hosts)/**',
            '**/*.driver.test.ts',
            '**/node_modules/**',
          ],
          testTimeout: 60_000 * patience,
          hookTimeout: 60_000 * patience,
          expect: expectOptions,
          maxWorkers: processors,
        },
      },
      {
        test: {
          name: 'drivers',
          include: ['packages/runtime/src/**/*.driver.test.ts'],
          testTimeout: 60_000 * patience,
          hookTimeout: 120_000 * patience,
          expect: expectOptions,
          maxWorkers: processors,
        },
      },
      {
        test: {
          name: 'stack',
          include: ['packages/testkit/src/**/*.test.ts'],
          exclude: ['packages/testkit/src/hosts/**', '**/node_modules/**'],
          globalSetup: 'packages/testkit/src/stack/shared-stack-setup.ts',
          // Of a machine with ten times as much to do. A test that hangs is ended, no more.
          testTimeout: 240_000 * patience,
          hookTimeout: 240_000 * patience,
          expect: expectOptions,
          // Most of these tests wait for longer than they work.
          maxWorkers: processors + 2,
        },
      },
    ],
  },
});
