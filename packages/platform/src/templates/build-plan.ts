import type { BuildRow } from '../store/build-store.ts';
import type { RegistryCredentials } from './template-images.ts';

/** The base and the steps of one build, validated. */
export interface BuildPlan {
  source: BuildSource;
  steps: readonly BuildStep[];
  /**
   * How many of the first steps the cache may answer, which leaves at least those out that have to run; null: none, and
   * the base is pulled again.
   */
  cacheableSteps: number | null;
  /** Undefined: those of the base, if it has any. */
  startCmd: string | undefined;
  readyCmd: string | undefined;
}

export type BuildSource =
  | { kind: 'image'; reference: string; credentials: RegistryCredentials | undefined }
  /** An archive that a client has uploaded; `release` is called when it is needed no more. */
  | { kind: 'archive'; path: string; release: () => void }
  /** Null: the image of the installation. */
  | { kind: 'template'; name: string; build: BuildRow | null };

export type BuildStep =
  /** A command for `/bin/bash -l -c`, of that user or of the current one. */
  | { type: 'RUN'; command: string; user: string | undefined }
  /** `ARG`: for the steps alone, and hidden by `ENV`. */
  | { type: 'ENV' | 'ARG'; variables: readonly (readonly [name: string, value: string])[] }
  | { type: 'WORKDIR'; path: string }
  | { type: 'USER'; name: string }
  | CopyStep;

/** Copies uploaded files. */
export interface CopyStep {
  type: 'COPY';
  /** As the owner of the build wrote it. */
  source: string;
  /** Its beginning without a pattern, and without `.` and `..`; empty for the folder of everything. */
  root: string;
  isPattern: boolean;
  destination: string;
  /** `user` or `user:group`; the default is the current user. */
  owner: string | undefined;
  mode: number | undefined;
  /** Of the archive. */
  filesHash: string;
}
