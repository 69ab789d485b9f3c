import { isolationLevels, strongestOf } from '@skerry/contract/isolation';
import type { Features, Kept } from '@skerry/runtime';

const everything: Kept = {
  pause: { memory: true, filesystem: true },
  snapshot: { memory: true, filesystem: true },
};

/** Before any node has answered; a node refuses what it cannot do. */
const expected: Features = {
  level: 'container',
  minimumLevel: 'container',
  levels: Object.fromEntries(isolationLevels.map((level) => [level, everything])),
  programs: true,
  ...everything,
  imageExport: true,
  network: true,
  nameRules: true,
  limits: { cpu: true, memory: true, disk: true, processes: true },
};

/** Returns what every node can do, read anew at each use, and the levels that some have. The default is the strongest of theirs. */
export const createCommonFeatures = (all: () => Features[]): Features => {
  const every = <T extends Record<string, boolean>>(pick: (features: Features) => T): T =>
    toCommon(all().map(pick), pick(expected));
  return {
    get level() {
      const given = all().map(({ level }) => level);
      // A node whose default is stronger may answer while a create that names no level is under way.
      return strongestOf(given.length === 0 ? isolationLevels : given);
    },
    get minimumLevel() {
      return strongestOf(all().map(({ minimumLevel }) => minimumLevel));
    },
    get levels() {
      const given = all();
      return given.length === 0 ? expected.levels : toCommonLevels(given);
    },
    programs: true,
    get pause() {
      return every(({ pause }) => pause);
    },
    get snapshot() {
      return every(({ snapshot }) => snapshot);
    },
    get imageExport() {
      return all().every(({ imageExport }) => imageExport);
    },
    get network() {
      return all().every(({ network }) => network);
    },
    get nameRules() {
      return all().every(({ nameRules }) => nameRules);
    },
    get limits() {
      return every(({ limits }) => limits);
    },
  };
};

const toCommon = <T extends Record<string, boolean>>(given: readonly T[], expected: T): T => {
  const names = Object.keys(expected) as (keyof T)[];
  return Object.fromEntries(names.map((name) => [name, given.every((one) => one[name])])) as T;
};

/** Returns the levels that some node has, and what each of those nodes keeps of its sandboxes. */
const toCommonLevels = (all: readonly Features[]): Features['levels'] =>
  Object.fromEntries(
    isolationLevels.flatMap((level) => {
      const having = all.flatMap(({ levels }) => levels[level] ?? []);
      if (having.length === 0) return [];
      const pause = toCommon(
        having.map((kept) => kept.pause),
        everything.pause,
      );
      const snapshot = toCommon(
        having.map((kept) => kept.snapshot),
        everything.snapshot,
      );
      return [[level, { pause, snapshot }]];
    }),
  );
