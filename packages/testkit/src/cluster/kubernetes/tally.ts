/** Prints checks and what they found. */
export interface Tally {
  check(title: string, run: () => Promise<boolean>): Promise<void>;
  note(text: string): void;
  isRight(): boolean;
}

export const createTally = (): Tally => {
  let failures = 0;
  return {
    check: async (title, run) => {
      const start = performance.now();
      const isRight = await run().catch((error: unknown) => {
        console.error(error);
        return false;
      });
      if (!isRight) failures += 1;
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      console.log(`${isRight ? 'ok' : 'FAILED'} ${title} (${seconds} s)`);
    },
    note: (text) => console.log(`   ${text}`),
    isRight: () => failures === 0,
  };
};
