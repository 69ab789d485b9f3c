import { ApiError } from '@skerry/contract/error';
import type { Clock } from '../clock.ts';
import { ElsewhereError } from '../hosts/elsewhere.ts';
import type { Operation, Telemetry } from './telemetry.ts';

/**
 * Resolves or rejects as `work` does, and reports it. What is left to another server is not reported, as that server does it; nor is
 * what resolves with undefined: there was nothing to do.
 */
export const reportOperation = async <T>(
  operation: Operation,
  work: () => Promise<T>,
  { telemetry, clock }: { telemetry: Telemetry; clock: Pick<Clock, 'elapsed'> },
): Promise<T> => {
  const begunAt = clock.elapsed();
  const report = (failure: string | undefined): void =>
    telemetry.onOperation({ operation, durationMs: clock.elapsed() - begunAt, failure });
  try {
    const result = await work();
    if (result !== undefined) report(undefined);
    return result;
  } catch (error) {
    if (!(error instanceof ElsewhereError)) report(toReason(error));
    throw error;
  }
};

/** All of them are constants of the code, so their number stays small. */
const toReason = (error: unknown): string =>
  error instanceof ApiError ? (error.reason ?? error.code) : 'internal';
