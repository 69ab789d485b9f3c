import { writeSync } from 'node:fs';

/**
 * Calls `goBack`, which returns this thread to `place` after a switch of namespaces. When that fails, the process
 * aborts at once, without exit handlers: any further work would act on a sandbox instead of the host.
 */
export const returnOrAbort = (place: string, goBack: () => void): void => {
  try {
    goBack();
  } catch (error) {
    try {
      writeSync(2, `cannot return to ${place}, so this process ends: ${String(error)}\n`);
    } catch {
      // Standard error may be closed; the process aborts in any case.
    }
    process.abort();
  }
};
