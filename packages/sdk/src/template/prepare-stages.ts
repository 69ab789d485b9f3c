import type { components } from '@skerry/platform-client';
import { type FetchedFile, fetchFile } from './build-files/fetch-file.ts';
import { type BuildFolder, openBuildFolder } from './build-files/open-folder.ts';
import { type PreparedCopy, prepareCopy, prepareMount } from './build-files/upload-files.ts';
import {
  type TemplateDefinition,
  type TemplateStep,
  toForce,
  toMountJson,
  toStepJson,
} from './definition.ts';

type Schemas = components['schemas'];

/** A step as it is sent. */
export interface PreparedStep {
  wire: Schemas['BuildStep'];
  /** What it copies or mounts of the context. */
  uploads: readonly PreparedCopy[];
  line: number | undefined;
}

/** What `prepareStages` needs. */
export interface PrepareOptions {
  /** The folder that steps copy from. */
  context?: string | undefined;
  /** Gets what is fetched of URLs: dispose of each after the build. */
  fetched: FetchedFile[];
  onFetch: (url: string) => void;
  signal: AbortSignal;
}

/** The steps of all stages, those of the template last. Rejects with `DockerfileError` for files that are not there. */
export async function prepareStages(
  { stages = [], ...definition }: TemplateDefinition,
  { context = '.', fetched, onFetch, signal }: PrepareOptions,
): Promise<PreparedStep[][]> {
  let opened: BuildFolder | undefined;
  const open = (): BuildFolder => (opened ??= openBuildFolder(context, definition.ignoreFile));
  const prepare = async (step: TemplateStep): Promise<PreparedStep[]> => {
    const { line } = step;
    if ('src' in step) {
      let source: BuildFolder | undefined;
      if (step.remote) {
        onFetch(step.remote.url);
        const file = await fetchFile(step.remote, { name: step.src, line, signal });
        fetched.push(file);
        source = openBuildFolder(file.folder, undefined);
      }
      const copies = await prepareCopy(step, source ?? open(), signal);
      return copies.map((copy) => ({ wire: toWireCopy(copy), uploads: [copy], line }));
    }
    const wire = toStepJson(step);
    if (!('mounts' in step)) return [{ wire, uploads: [], line }];
    const uploads: PreparedCopy[] = [];
    const mounts: Schemas['BuildMount'][] = [];
    for (const mount of step.mounts ?? []) {
      if (mount.src === undefined) mounts.push(toMountJson(mount));
      else {
        const copy = await prepareMount({ ...mount, src: mount.src, line }, open(), signal);
        uploads.push(copy);
        mounts.push({ ...toMountJson(mount), source: copy.args[0] ?? '', filesHash: copy.hash });
      }
    }
    return [{ wire: { ...wire, mounts }, uploads, line }];
  };
  const prepared: PreparedStep[][] = [];
  for (const stage of [...stages, definition]) {
    const steps: PreparedStep[] = [];
    for (const [index, step] of stage.steps.entries()) {
      const force = toForce(index, stage.cacheableSteps);
      steps.push(
        ...(await prepare(step)).map(({ wire, ...one }) => ({ ...one, wire: { ...wire, ...force } })),
      );
    }
    prepared.push(steps);
  }
  return prepared;
}

const toWireCopy = ({ type, args, dockerfile, hash }: PreparedCopy): Schemas['BuildStep'] => ({
  type,
  args,
  filesHash: hash,
  ...(dockerfile && { dockerfile }),
});
