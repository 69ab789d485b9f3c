import { posix } from 'node:path';
import type { Readable } from 'node:stream';
import type { UnpackRequest } from '@skerry/contract/agent-control';
import type { Instance } from '@skerry/runtime';
import { pack } from 'tar-stream';
import { RefusedArchiveError } from '../../agent-commands/read-refusal.ts';
import { BuildError } from '../build-error.ts';
import type { CopyStep, StageSource, UploadedFiles } from '../build-plan.ts';
import { expand, ofStep, requireAccount, requireMode, type StepPosition } from '../step-position.ts';
import type { ArchiveStore } from './archive-store.ts';
import { sendArchive } from './send-archive.ts';
import { takeArchive } from './take-archive.ts';

/** Copies the files of steps into the sandbox of one build. */
export interface CopyRunner {
  /** Rejects with `BuildError` when the files cannot be copied, and otherwise as `sendArchive` does. */
  copy(step: CopyStep, options: { name: string; position: StepPosition; signal: AbortSignal }): Promise<void>;
  /** Sends files of a stage or of a client to a path of the sandbox. Rejects as `sendArchive` does. */
  send(
    from: UploadedFiles | (StageSource & { source: string }),
    options: { destination: string; signal: AbortSignal },
  ): Promise<void>;
}

/** Calls `work` with a sandbox that has the files of a stage and runs nothing, which is gone when it settles. */
export type WithStage = <T>(
  index: number,
  work: (instance: Pick<Instance, 'control'>) => Promise<T>,
) => Promise<T>;

export const createCopyRunner = (
  instance: Pick<Instance, 'control'>,
  { buildFiles, withStage }: { buildFiles: ArchiveStore | undefined; withStage: WithStage },
): CopyRunner => ({
  copy: async (step, { name, position, signal }) => {
    const { source, destination, request } = ofStep(name, () => toRequest(step, position));
    const { from } = step;
    try {
      if (from.kind === 'stage')
        await withStage(from.index, (stage) =>
          copyBetween(stage, instance, { path: source, request, signal }),
        );
      else if (from.kind === 'upload') await copyUploaded(from, { buildFiles, instance, request, signal });
      else {
        const content = ofStep(name, () => expand(from.content, position, step));
        const file = posix.basename(source);
        await sendArchive(instance, packContent(file, content), { ...request, source: file }, { signal });
      }
    } catch (error) {
      if (error instanceof RefusedArchiveError)
        throw new BuildError(name, `cannot copy '${source}' to '${destination}': ${error.message}`, {
          cause: error,
        });
      throw error;
    }
  },
  send: async (from, { destination, signal }) => {
    const request = { ...asTheyAre, destination };
    if (from.kind === 'upload') await copyUploaded(from, { buildFiles, instance, request, signal });
    else
      await withStage(from.index, (stage) =>
        copyBetween(stage, instance, { path: from.source, request, signal }),
      );
  },
});

/** Files that keep what they are, in the place of a file or as the content of a folder. */
export const asTheyAre = {
  intoFolder: false,
  owner: 'root',
  mode: undefined,
  keepsOwners: true,
  overwritesFolders: true,
} as const;

const toRequest = (
  step: CopyStep,
  position: StepPosition,
): { source: string; destination: string; request: Omit<UnpackRequest, 'source'> } => {
  const { isDockerfile, keepsOwners, overwritesFolders } = step;
  const expandWord = (text: string): string => (isDockerfile ? expand(text, position, step) : text);
  const destination = expand(step.destination, position, step);
  return {
    source: step.from.kind === 'stage' ? expandWord(step.source) : step.source,
    destination,
    request: {
      destination: posix.resolve(position.workdir, destination),
      intoFolder: /(?:^|\/)\.{0,2}$/.test(destination),
      owner:
        step.owner === undefined
          ? keepsOwners
            ? 'root'
            : position.user
          : requireAccount(expandWord(step.owner)),
      mode: step.mode === undefined ? undefined : requireMode(expandWord(step.mode)),
      keepsOwners,
      overwritesFolders,
    },
  };
};

/** The time is always the same, as the key of the step is. */
const packContent = (name: string, content: string): { archive: Readable } => {
  const archive = pack();
  archive.entry({ name, mode: 0o644, mtime: new Date(0) }, content);
  archive.finalize();
  return { archive: archive as unknown as Readable };
};

const copyUploaded = async (
  { filesHash, root, isPattern }: UploadedFiles,
  options: {
    buildFiles: ArchiveStore | undefined;
    instance: Pick<Instance, 'control'>;
    request: Omit<UnpackRequest, 'source'>;
    signal: AbortSignal;
  },
): Promise<void> => {
  const { buildFiles, instance, request, signal } = options;
  const archive = await buildFiles?.open(filesHash);
  if (archive === undefined)
    throw new RefusedArchiveError('its files were not uploaded, or were removed since');
  const intoFolder = isPattern || request.intoFolder;
  await sendArchive(instance, archive, { ...request, source: root, intoFolder }, { signal });
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
