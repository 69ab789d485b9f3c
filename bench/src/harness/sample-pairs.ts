/** The samples, and those of the reference. */
export interface SamplePairs {
  samples: number[];
  compared: number[];
}

/** Measures the two alternately `runs` times, after `warmUpRuns` that do not count; those have a negative number. */
export async function samplePairs(options: {
  warmUpRuns: number;
  runs: number;
  measure: (run: number) => Promise<number>;
  beside: (run: number) => Promise<number>;
}): Promise<SamplePairs> {
  const pairs: SamplePairs = { samples: [], compared: [] };
  for (let run = -options.warmUpRuns; run < options.runs; run += 1) {
    const measured = await options.measure(run);
    const compared = await options.beside(run);
    if (run < 0) continue;
    pairs.samples.push(measured);
    pairs.compared.push(compared);
  }
  return pairs;
}
