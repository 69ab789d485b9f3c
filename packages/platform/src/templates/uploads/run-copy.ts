import { posix } from 'node:path';
import type { UnpackRequest } from '@skerry/contract/agent-control';
import type { Instance } from '@skerry/runtime';
import { BuildError } from '../build-error.ts';
import type { CopyStep, UploadedFiles } from '../build-plan.ts';
import type { ContextStore } from './context-store.ts';
import { RefusedArchiveError, sendArchive } from './send-archive.ts';
import { takeArchive } from './take-archive.ts';

/** Copies the files of steps into the sandbox of one build. */
export interface Copying {
  /** Rejects with `BuildError` when the files cannot be copied, and otherwise as `sendArchive` does. */
  copy(
    step: CopyStep,
    place: { name: string; user: string; workdir: string; destination: string },
    options: { signal: AbortSignal },
  ): Promise<void>;
}

/** Calls `work` with a sandbox that has the files of a stage and runs nothing, which is gone when it settles. */
export type WithStage = <T>(
  index: number,
  work: (instance: Pick<Instance, 'control'>) => Promise<T>,
) => Promise<T>;

export const createCopying = (
  instance: Pick<Instance, 'control'>,
  { contexts, withStage }: { contexts: ContextStore | undefined; withStage: WithStage },
): Copying => ({
  copy: async (step, { name, user, workdir, destination }, { signal }) => {
    const what = `cannot copy '${step.source}' to '${step.destination}'`;
    const request = {
      destination: posix.resolve(workdir, destination),
      intoFolder: /(?:^|\/)\.{0,2}$/.test(destination),
      owner: step.owner ?? (step.keepsOwners ? 'root' : user),
      mode: step.mode,
      keepsOwners: step.keepsOwners,
      overwritesFolders: step.overwritesFolders,
    };
    const { from } = step;
    try {
      if (from.kind === 'stage')
        await withStage(from.index, (stage) =>
          copyBetween(stage, instance, { path: step.source, request, signal }),
        );
      else await copyUploaded(from, { contexts, instance, request, signal });
    } catch (error) {
      if (error instanceof RefusedArchiveError)
        throw new BuildError(name, `${what}: ${error.message}`, { cause: error });
      throw error;
    }
  },
});

const copyUploaded = async (
  { filesHash, root, isPattern }: UploadedFiles,
  options: {
    contexts: ContextStore | undefined;
    instance: Pick<Instance, 'control'>;
    request: Omit<UnpackRequest, 'source'>;
    signal: AbortSignal;
  },
): Promise<void> => {
  const { contexts, instance, request, signal } = options;
  const context = await contexts?.open(filesHash);
  if (context === undefined)
    throw new RefusedArchiveError('its files were not uploaded, or were removed since');
  const intoFolder = isPattern || request.intoFolder;
  await sendArchive(instance, context, { ...request, source: root, intoFolder }, { signal });
};

/** What the agent of one sandbox packs goes to that of the other as it arrives: nothing is kept between. */
const copyBetween = async (
  from: Pick<Instance, 'control'>,
  to: Pick<Instance, 'control'>,
  options: { path: string; request: Omit<UnpackRequest, 'source'>; signal: AbortSignal },
): Promise<void> => {
  const { path, request, signal } = options;
  const { archive, source, isSeveral } = await takeArchive(from, path, { signal });
  const intoFolder = isSeveral || request.intoFolder;
  await sendArchive(to, { archive }, { ...request, source, intoFolder }, { signal });
};
