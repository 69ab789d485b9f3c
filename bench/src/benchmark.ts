import type { Row } from './row.ts';
import type { BenchStack } from './stack.ts';

/** Measures one named figure with at least `runs` samples, against the stack that every benchmark of a run shares. */
export type Benchmark = (context: { name: string; runs: number; stack: BenchStack }) => Promise<Row[]>;
