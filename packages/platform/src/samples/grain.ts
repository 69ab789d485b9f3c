const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The interval between samples. */
export const SAMPLE_MS = 5 * SECOND_MS;

/**
 * Every sample is kept for an hour, the first of each minute for a day, the first of each quarter of an hour for a
 * week: at most some 2,800 rows of a sandbox, however long it runs.
 */
const GRAINS = [
  { grain: 0, stretchMs: SAMPLE_MS, keepMs: HOUR_MS },
  { grain: 1, stretchMs: MINUTE_MS, keepMs: DAY_MS },
  { grain: 2, stretchMs: 15 * MINUTE_MS, keepMs: 7 * DAY_MS },
] as const;

/** The steps of a response, by the length of the queried time. */
const STEPS = [
  { belowMs: HOUR_MS, stepMs: SAMPLE_MS },
  { belowMs: 6 * HOUR_MS, stepMs: 30 * SECOND_MS },
  { belowMs: 12 * HOUR_MS, stepMs: MINUTE_MS },
  { belowMs: DAY_MS, stepMs: 2 * MINUTE_MS },
  { belowMs: 7 * DAY_MS, stepMs: 5 * MINUTE_MS },
  { belowMs: Number.POSITIVE_INFINITY, stepMs: 15 * MINUTE_MS },
] as const;

const slotOf = (at: number, stretchMs: number): number => Math.floor(at / stretchMs);

/** The grain of a sample that follows one taken at `previousAt`; the first of a sandbox has the coarsest. */
export const toGrain = (at: number, previousAt: number | undefined): number => {
  const coarsest = GRAINS.findLast(
    ({ stretchMs }) => previousAt === undefined || slotOf(at, stretchMs) !== slotOf(previousAt, stretchMs),
  );
  return coarsest?.grain ?? 0;
};

/** The times before which samples of each grain are removed. */
export const toOutdated = (now: number): { grain: number; before: number }[] =>
  GRAINS.map(({ grain, keepMs }) => ({ grain, before: now - keepMs }));

/** The interval of the samples in a response, and the finest grain that it needs. */
export const toStep = (rangeMs: number): { stepMs: number; grain: number } => {
  const stepMs = STEPS.find(({ belowMs }) => rangeMs < belowMs)?.stepMs ?? SAMPLE_MS;
  const grain = GRAINS.findLast(({ stretchMs }) => stretchMs <= stepMs)?.grain ?? 0;
  return { stepMs, grain };
};

/** The first sample of each step. */
export const thin = <T extends { at: number }>(rows: readonly T[], stepMs: number): T[] =>
  stepMs === SAMPLE_MS
    ? [...rows]
    : rows.filter((row, index) => {
        const before = rows[index - 1];
        return before === undefined || slotOf(before.at, stepMs) !== slotOf(row.at, stepMs);
      });

/** A step in which each running sandbox has a sample, though samples are not taken at equal moments. */
const SHORTEST_COUNT_MS = 30 * SECOND_MS;

/** The step in which sandboxes are counted by their samples, for a window that begins that long ago. */
export const toCountStep = (ageMs: number): { stepMs: number; grain: number } => {
  // Windows begin at whole seconds.
  const { grain, stretchMs } = GRAINS.find(({ keepMs }) => ageMs < keepMs + SECOND_MS) ?? GRAINS[2];
  return { stepMs: Math.max(stretchMs, SHORTEST_COUNT_MS), grain };
};

/** The longest time for which a sample is kept. */
export const KEEP_SAMPLES_MS = GRAINS[2].keepMs;
