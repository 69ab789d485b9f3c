import { posix } from 'node:path';
import type { Instance } from '@skerry/runtime';
import { BuildError } from '../build-error.ts';
import type { CopyStep } from '../build-plan.ts';
import type { ContextStore } from './context-store.ts';
import { RefusedArchiveError, sendArchive } from './send-archive.ts';

/** Copies the files of steps into the sandbox of one build. */
export interface Copying {
  /** Rejects with `BuildError` when the files cannot be copied, and otherwise as `sendArchive` does. */
  copy(
    step: CopyStep,
    place: { name: string; user: string; workdir: string; destination: string },
    options: { signal: AbortSignal },
  ): Promise<void>;
}

export const createCopying = (
  instance: Pick<Instance, 'control'>,
  { contexts }: { contexts: ContextStore | undefined },
): Copying => ({
  copy: async (step, { name, user, workdir, destination }, { signal }) => {
    const what = `cannot copy '${step.source}' to '${step.destination}'`;
    const context = await contexts?.open(step.filesHash);
    if (context === undefined)
      throw new BuildError(name, `${what}: its files were not uploaded, or were removed since`);
    const request = {
      source: step.root,
      destination: posix.resolve(workdir, destination),
      intoFolder: step.isPattern || /(?:^|\/)\.{0,2}$/.test(destination),
      owner: step.owner ?? user,
      mode: step.mode,
    };
    try {
      await sendArchive(instance, context, request, { signal });
    } catch (error) {
      if (error instanceof RefusedArchiveError)
        throw new BuildError(name, `${what}: ${error.message}`, { cause: error });
      throw error;
    }
  },
});
