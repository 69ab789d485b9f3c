/** Runs work one at a time, in the order of the calls. */
export interface SerialQueue {
  /** Settles as the work does, which begins when all earlier work has settled. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when all work of earlier calls has settled. */
  settled(): Promise<void>;
}

/** Creates a queue without work. */
export const createSerialQueue = (): SerialQueue => {
  let last: Promise<unknown> = Promise.resolve();
  const ignore = (): void => undefined;
  return {
    run: (work) => {
      const mine = last.then(work);
      // The caller of this work receives the rejection; later work only waits.
      last = mine.catch(ignore);
      return mine;
    },
    settled: () => last.then(ignore),
  };
};
