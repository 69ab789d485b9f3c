import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Row } from './report/row.ts';

/** A figure that one checkout measured. */
export type ComparedRow = Pick<Row, 'name' | 'unit' | 'p50' | 'p95' | 'n' | 'bound'>;

/** The program of a checkout that `--against` starts. */
export const comparedProgram = (checkout: string): string => join(checkout, 'bench/compared.ts');

/** The running service of a checkout, and the benchmarks of the same checkout. */
export interface ComparedCheckout extends AsyncDisposable {
  /** Rejects when the benchmark fails. One at a time. */
  measure(name: string): Promise<ComparedRow[]>;
}

/**
 * Starts the service of a checkout that is installed and built. Disposing it removes everything that it started. The start and each
 * measurement reject when `signal` aborts.
 */
export async function startComparedCheckout(
  checkout: string,
  options: { runs: number; scale: number; signal: AbortSignal },
): Promise<ComparedCheckout> {
  const child = fork(comparedProgram(checkout), [`${options.runs}`, `${options.scale}`], { cwd: checkout });
  const exited = once(child, 'exit');
  const end = async () => {
    if (child.connected) child.disconnect();
    await exited;
  };
  const answer = () => nextAnswer(child, checkout, options.signal);
  await answer().catch(async (error: unknown) => {
    await end();
    throw error;
  });
  return {
    measure(name) {
      child.send(name);
      return answer();
    },
    [Symbol.asyncDispose]: end,
  };
}

async function nextAnswer(
  child: ChildProcess,
  checkout: string,
  signal: AbortSignal,
): Promise<ComparedRow[]> {
  const settled = new AbortController();
  const until = { signal: AbortSignal.any([signal, settled.signal]) };
  try {
    const ended = once(child, 'exit', until).then(([code]) => {
      throw new Error(`the benchmarks of ${checkout} ended with ${code}`);
    });
    const [rows] = await Promise.race([once(child, 'message', until), ended]);
    return rows as ComparedRow[];
  } finally {
    settled.abort();
  }
}
