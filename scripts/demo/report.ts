export interface Report {
  /** Runs one step, prints its title and time, and rethrows what it throws. */
  step<T>(title: string, run: () => Promise<T>): Promise<T>;
  /** Prints a line of the running step. */
  say(line: string): void;
  summary(): void;
}

/** Prints a demo as numbered steps with their times. */
export function createReport(): Report {
  const started = performance.now();
  let count = 0;
  let open = false;
  const say = (line: string): void => {
    if (open) process.stdout.write('\n');
    open = false;
    process.stdout.write(`      ${line}\n`);
  };
  return {
    say,
    async step(title, run) {
      count += 1;
      process.stdout.write(`${String(count).padStart(2)}. ${title}`);
      open = true;
      const begun = performance.now();
      try {
        const result = await run();
        const time = `${(performance.now() - begun).toFixed(0)} ms`;
        process.stdout.write(open ? ` … ${time}\n` : `      ${time}\n`);
        return result;
      } catch (error) {
        process.stdout.write(`\n      FAILED: ${(error as Error).message}\n`);
        throw error;
      } finally {
        open = false;
      }
    },
    summary() {
      process.stdout.write(
        `\nAll ${count} steps passed in ${((performance.now() - started) / 1000).toFixed(1)} s.\n`,
      );
    },
  };
}
