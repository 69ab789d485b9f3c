import type { Row } from './row.ts';
import type { BenchStack } from './stack.ts';

export interface BenchmarkContext {
  name: string;
  /** At least so many samples; those that take seconds each have fewer. */
  runs: number;
  /** What sizes and numbers are multiplied with: 1, or less for a quick look. */
  scale: number;
  stack: BenchStack;
  /** What this run has measured so far, for ratios to what has a row of its own. */
  measured: readonly Row[];
  /** Whether references that are not installed are brought for as long as they are measured. */
  installsReferences: boolean;
  /** Undone when the benchmark is over, and when the program is ended before. */
  resources: AsyncDisposableStack;
}

/** Measures one named figure against the stack that every benchmark of a run shares. */
export type Benchmark = (context: BenchmarkContext) => Promise<Row[]>;
