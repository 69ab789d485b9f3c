import type { Instance, InstanceSpec, Runtime } from '../runtime.ts';
import type { LevelTraits } from './levels.ts';

/** What a test of the suite works with. */
export interface SuiteHost {
  readonly runtime: Runtime;
  readonly dataDir: string;
  readonly traits: LevelTraits;
  /** `it` for a test that runs programs inside: skipped, with that reason, where none run. */
  inside(title: string, test: () => Promise<void>): void;
  /** Whether to declare rare cases and tests of many moments, which the short form leaves out. */
  readonly isFull: boolean;
  /** A spec with an id that no other test uses. */
  spec(change?: Partial<InstanceSpec>): InstanceSpec;
  create(change?: Partial<InstanceSpec>): Promise<Instance>;
  /** Closes the runtime and opens it again on the same folder, as the next process does. */
  reopen(): Promise<void>;
  /** The attempts of the hostile program that succeed with this driver by design. */
  readonly letsThrough: readonly string[];
  /** What the sandboxes of all tests so far have left on the host. */
  traces(): Promise<string[]>;
}
