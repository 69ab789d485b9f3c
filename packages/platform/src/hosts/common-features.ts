import type { Features } from '@skerry/runtime';

/** Before any node has answered; a node refuses what it cannot do. */
const expected: Features = {
  level: 'container',
  programs: true,
  pause: { memory: true, filesystem: true },
  snapshot: { memory: true, filesystem: true },
  imageExport: true,
  network: true,
  limits: { cpu: true, memory: true, disk: true, processes: true },
};

/** What every node can do, read anew at each use. Levels must not differ: the caller uses no node of another one. */
export const createCommonFeatures = (all: () => Features[]): Features => {
  const every = <T extends Record<string, boolean>>(pick: (features: Features) => T): T => {
    const given = all().map(pick);
    const names = Object.keys(pick(expected)) as (keyof T)[];
    return Object.fromEntries(names.map((name) => [name, given.every((one) => one[name])])) as T;
  };
  return {
    get level() {
      return all()[0]?.level ?? expected.level;
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
    get limits() {
      return every(({ limits }) => limits);
    },
  };
};
