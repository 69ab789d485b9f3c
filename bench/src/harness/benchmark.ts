import type { Row } from '../report/row.ts';
import type { BenchStack } from './stack.ts';

export interface BenchmarkContext {
  name: string;
  /** The minimum number of samples; benchmarks whose samples take seconds have fewer. */
  runs: number;
  /** The factor for sizes and numbers: 1, or less for a quick run. */
  scale: number;
  stack: BenchStack;
  /** The rows of this run so far, for ratios between rows. */
  measured: readonly Row[];
  /** Whether references that are not installed are downloaded for the measurement. */
  installsReferences: boolean;
  /** Undone at the end of the benchmark, also when the program is stopped. */
  resources: AsyncDisposableStack;
}

/** Measures one named figure on the service that all benchmarks of a run share. */
export type Benchmark = (context: BenchmarkContext) => Promise<Row[]>;
