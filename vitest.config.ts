import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { imagesDir } from './packages/testkit/src/stack/images-dir.ts';
import { LongFilesFirst } from './scripts/long-files-first.ts';

// Most of these tests wait longer than they compute. One number for all: files of projects that differ in it would not run at once.
const maxWorkers = 2 * availableParallelism();

// The factor for all timeouts: more than 1 on an emulated machine.
const patience = Number(process.env.SKERRY_TEST_PATIENCE ?? 1);

// Only ends a test that would wait forever: its steps may be slow on a busy machine.
const expectOptions = { poll: { timeout: 60_000 * patience } };

/** Tests of `pnpm test:more`: what takes long, and what others test more quickly. */
const longFiles = '**/*.long.test.ts';

/** Tests that need the mirrors of Debian and npm. */
const mirrorFiles = '**/*.mirrors.test.ts';

// No test uses the registries of the developer's own Docker. The folder does not exist, which is as good as an empty one.
const env = { DOCKER_CONFIG: '/nonexistent' };

/** Tests that drive the real service. */
const onService = {
  globalSetup: 'packages/testkit/src/stack/shared-stack-setup.ts',
  setupFiles: 'packages/testkit/src/stack/print-failure-logs.ts',
  // Otherwise each data folder would get images of its own, which take a minute to make.
  env: { ...env, SKERRY_IMAGES_DIR: imagesDir, SKERRY_BASE: 'minimal' },
  // A machine under ten times this load needs less. It only ends a test that hangs.
  testTimeout: 240_000 * patience,
  hookTimeout: 240_000 * patience,
  expect: expectOptions,
};

/**
 * `npm test` runs `unit` and `agent`, which need only files and loopback, `drivers`, which runs the runtime's suite on
 * every driver of this host, and `stack`, which starts the real service and drives it through the generated clients.
 * `pnpm test:more` runs `long`, which has what takes long of the drivers and of the service, `cluster`, which has
 * clusters with their failures, and `release`, which uses the packed packages as their users do. `mirrors` is run by
 * hand: it needs hosts outside.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongFilesFirst },
    // Otherwise all other tests of a file would not run, and nothing would say so.
    allowOnly: false,
    // The server that the stack tests share is stopped in it.
    teardownTimeout: 120_000 * patience,
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.ts',
            'bundling/**/*.test.ts',
            'scripts/**/*.test.ts',
            'bench/src/**/*.test.ts',
            'site/reference/**/*.test.ts',
            '*.test.ts',
          ],
          // A worker runs many files, each module once: loading them again for each file took a third of the processor time.
          isolate: false,
          // Only the chart and the parts of the hosts lab, in testkit, need no sandboxes.
          exclude: [
            'packages/testkit/src/*.test.ts',
            'packages/testkit/src/!(hosts|chart)/**',
            'packages/envd/**',
            '**/*.driver.test.ts',
            longFiles,
            '**/node_modules/**',
          ],
          env,
          testTimeout: 180_000 * patience,
          hookTimeout: 180_000 * patience,
          expect: expectOptions,
          maxWorkers,
        },
      },
      {
        test: {
          // In no process with `unit`: the agent replaces `Headers`, and loads libraries before `runtime` has configured koffi.
          name: 'agent',
          include: ['packages/envd/src/**/*.test.ts'],
          exclude: [longFiles, '**/node_modules/**'],
          isolate: false,
          env,
          testTimeout: 180_000 * patience,
          hookTimeout: 180_000 * patience,
          expect: expectOptions,
          maxWorkers,
        },
      },
      {
        test: {
          name: 'drivers',
          include: ['packages/runtime/src/**/*.driver.test.ts'],
          isolate: false,
          env,
          testTimeout: 180_000 * patience,
          hookTimeout: 180_000 * patience,
          expect: expectOptions,
          maxWorkers,
        },
      },
      {
        test: {
          name: 'stack',
          include: ['packages/testkit/src/**/*.test.ts'],
          // The short tests of clusters are part of this project.
          exclude: [
            'packages/testkit/src/{chart,hosts,release}/**',
            'packages/testkit/src/cluster/long/**',
            longFiles,
            '**/node_modules/**',
          ],
          ...onService,
          isolate: false,
          maxWorkers,
        },
      },
      {
        test: {
          name: 'cluster',
          include: [
            'packages/testkit/src/cluster/long/**/*.test.ts',
            'packages/testkit/src/cluster/**/*.long.test.ts',
          ],
          ...onService,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'long',
          include: [longFiles],
          exclude: ['packages/testkit/src/cluster/**', '**/node_modules/**'],
          ...onService,
          maxWorkers,
        },
      },
      {
        test: {
          name: 'release',
          // `npm test` skips the store of S3 and two shells where Swift and the shells are not installed.
          include: [
            'packages/testkit/src/release/**/*.test.ts',
            'packages/blobs/src/s3/s3.test.ts',
            'packages/testkit/src/cli/completion.test.ts',
          ],
          exclude: [mirrorFiles, '**/node_modules/**'],
          env,
          testTimeout: 600_000 * patience,
          hookTimeout: 240_000 * patience,
          maxWorkers: 1,
        },
      },
      {
        test: {
          name: 'mirrors',
          include: [mirrorFiles],
          env,
          testTimeout: 600_000 * patience,
          hookTimeout: 240_000 * patience,
          maxWorkers: 1,
        },
      },
    ],
  },
});
