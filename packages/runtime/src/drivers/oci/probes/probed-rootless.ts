import type { RootlessOptions } from '../host-backend.ts';

/** The rootless namespace that the probes run in, as the options of the driver. */
export interface ProbedRootless {
  stateDir: string;
  rootless: RootlessOptions;
}
