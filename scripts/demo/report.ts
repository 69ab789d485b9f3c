export interface Report {
  /** Runs one step, prints its title and time, and rethrows what it throws. */
  step<T>(title: string, run: () => Promise<T>): Promise<T>;
  /** Prints a line of the running step. */
  say(line: string): void;
  summary(): void;
  /** Prints a line below what is there, and nothing after it. */
  end(line: string): void;
}

/** Prints a demo as numbered steps with their times. */
export function createReport(): Report {
  const started = performance.now();
  let count = 0;
  let open = false;
  let isEnded = false;
  const write = (text: string): void => {
    if (!isEnded) process.stdout.write(text);
  };
  const say = (line: string): void => {
    if (open) write('\n');
    open = false;
    write(`      ${line}\n`);
  };
  return {
    say,
    async step(title, run) {
      count += 1;
      write(`${String(count).padStart(2)}. ${title}`);
      open = true;
      const begun = performance.now();
      try {
        const result = await run();
        const time = `${(performance.now() - begun).toFixed(0)} ms`;
        write(open ? ` … ${time}\n` : `      ${time}\n`);
        return result;
      } catch (error) {
        write(`\n      FAILED: ${(error as Error).message}\n`);
        throw error;
      } finally {
        open = false;
      }
    },
    end(line) {
      write(`${open ? '\n' : ''}${line}\n`);
      isEnded = true;
    },
    summary() {
      write(`\nAll ${count} steps passed in ${((performance.now() - started) / 1000).toFixed(1)} s.\n`);
    },
  };
}
