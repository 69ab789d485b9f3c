import { createVitest } from 'vitest/node';

/** A source file as it is served to the tests. */
export interface Defect {
  path: string;
  source: string;
}

export interface TestRunner {
  /** Whether a test fails, or does not end, with the defect or without one. */
  isNoticed(defect?: Defect): Promise<boolean>;
  close(): Promise<void>;
}

/** A run that takes this many times as long as one without a defect hangs. */
const HANGING_FACTOR = 5;
/** But no run that is shorter, since the machine may be busy. */
const SHORTEST_HANG_MS = 10_000;

/**
 * Makes a runner for these test files, of paths from the root. Threads begin faster than processes do. Until it is closed, an
 * exception that nothing in this process catches counts as noticed while tests run, and ends the process otherwise.
 */
export const openTests = async (
  root: string,
  { files, pool }: { files: string[]; pool: 'threads' | 'forks' },
): Promise<TestRunner> => {
  let current: Defect | undefined;
  let isRunning = false;
  let isNoticed = false;
  let isEnding = false;
  const vitest = await createVitest(
    'test',
    {
      root,
      config: false,
      watch: false,
      include: files,
      reporters: [
        {
          onTestCaseResult: (testCase) => {
            if (testCase.result().state === 'failed') notice();
          },
          onTestModuleEnd: (testModule) => {
            if (!testModule.ok()) notice();
          },
        },
      ],
      // It is by the time of the file on disk, which does not change.
      fsModuleCache: false,
      testTimeout: 10_000,
      pool,
      expect: { poll: { timeout: 5_000 } },
    },
    {
      plugins: [
        {
          name: 'defect',
          enforce: 'pre',
          load: (id) => (id === current?.path ? current.source : undefined),
        },
      ],
    },
  );
  const specifications = await vitest.globTestSpecifications();
  let hangsAfterMs = 10 * SHORTEST_HANG_MS;

  let ended: Promise<unknown> = Promise.resolve();
  /**
   * Ends the run. The second cancel is what vitest takes for one by force: a worker in an endless loop, or one whose hooks wait for
   * what a failed test has left open, would not end otherwise.
   */
  const notice = (): void => {
    isNoticed = true;
    if (isEnding) return;
    isEnding = true;
    const cancel = (): Promise<void> => vitest.cancelCurrentRun('test-failure');
    ended = Promise.all([cancel(), cancel()]);
  };

  // A worker whose defect takes all memory fails and exits at once. vitest listens for the first only, and throws the second
  // here. The run goes on without that worker: to cancel it now would wait for that worker forever.
  const noticeUncaught = (error: Error, origin: NodeJS.UncaughtExceptionOrigin): void => {
    if (!isRunning || origin !== 'uncaughtException') throw error;
    isNoticed = true;
  };
  process.on('uncaughtException', noticeUncaught);

  // Not by the option `bail`, nor by what a run returns: both count failures of earlier runs of other files too.
  const run = async (wanted: typeof specifications): Promise<boolean> => {
    isRunning = true;
    isNoticed = false;
    isEnding = false;
    const timer = setTimeout(notice, hangsAfterMs);
    const { unhandledErrors } = await vitest.runTestSpecifications(wanted);
    clearTimeout(timer);
    await ended;
    isRunning = false;
    return isNoticed || unhandledErrors.length > 0;
  };

  return {
    async isNoticed(defect) {
      const changed = [current?.path, defect?.path];
      current = defect;
      for (const path of changed) if (path !== undefined) vitest.invalidateFile(path);
      if (defect === undefined) {
        const start = performance.now();
        const isFailing = await run(specifications);
        hangsAfterMs = Math.max(SHORTEST_HANG_MS, HANGING_FACTOR * (performance.now() - start));
        return isFailing;
      }
      // The test beside the file notices most of its defects.
      const beside = defect.path.replace(/\.ts$/, '.test.ts');
      const isBeside = ({ moduleId }: { moduleId: string }): boolean => moduleId === beside;
      const [first, rest] = [
        specifications.filter(isBeside),
        specifications.filter((specification) => !isBeside(specification)),
      ];
      for (const part of [first, rest]) if (part.length > 0 && (await run(part))) return true;
      return false;
    },
    close: async () => {
      await vitest.close();
      process.off('uncaughtException', noticeUncaught);
    },
  };
};
