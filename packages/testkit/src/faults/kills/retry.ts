import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '@skerry/sdk';

const SETTLE_MS = 10_000;

/** Repeats what fails with a `SandboxError`, as a server may for a moment after a kill, for at most ten seconds. */
export const retry = async <T>(act: () => Promise<T>): Promise<T> => {
  for (const deadline = performance.now() + SETTLE_MS; ; await delay(20)) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof SandboxError) || performance.now() > deadline) throw error;
    }
  }
};
