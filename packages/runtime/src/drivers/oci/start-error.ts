import { RuntimeError, toRuntimeError } from '../../error.ts';

/** Says of whatever made a start fail which of the port's codes that is. */
export const toStartError = (
  error: unknown,
  { step, signal }: { step: string; signal?: AbortSignal },
): RuntimeError => {
  if (signal?.aborted) {
    return new RuntimeError('unavailable', `${step} was aborted or took too long`, { cause: error });
  }
  if (isExhaustion(error)) return new RuntimeError('exhausted', 'the host is full', { cause: error });
  return toRuntimeError(error, step);
};

/** Disk, memory, processes or descriptors of the host: what a later try may find again. */
const isExhaustion = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'ENOMEM', 'EAGAIN', 'EMFILE', 'ENFILE'].includes(
    (error as NodeJS.ErrnoException | undefined)?.code ?? '',
  );
