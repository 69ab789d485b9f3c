import type { components } from '@skerry/platform-client';
import { type Connection, callApi, createConnection } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';
import type { BuildProgress, BuildResult, TemplateBuild } from './build-handle.ts';
import { openContext } from './context/open-context.ts';
import { type PreparedCopy, prepareCopy, uploadFiles } from './context/upload-files.ts';
import { type TemplateDefinition, type TemplateSource, toForce } from './definition.ts';
import type { TemplateBuilder } from './template.ts';
import { startBuild, waitForBuild } from './wait-for-build.ts';

type Schemas = components['schemas'];

/** `signal` ends the waiting; a build that was started goes on. */
export interface BuildOptions extends ConnectionOptions {
  /** Processors of each sandbox, 1 or an even number. Default 2. */
  cpuCount?: number | undefined;
  /** Memory of each sandbox in MiB, an even number from 128. Default 1024. */
  memoryMb?: number | undefined;
  /** Tags for this build, beside one in the name. Default: `default`, if there is none in the name. */
  tags?: readonly string[] | undefined;
  /** Pulls the image and runs every step, without the cache of the service, and uploads files again that the service has. */
  force?: boolean | undefined;
  /** The folder that `copy` reads. Default: the current folder. */
  context?: string | undefined;
}

/**
 * Builds a template under a name, `name` or `name:tag`. Names of other builds keep what they point to until this one is ready.
 * Throws `unauthenticated` when there is no API key; all other errors are those of the handle, among them
 * `invalid_argument` for files that are not in the context, before the service is asked for anything, and errors of the file
 * system.
 */
export function build(template: TemplateBuilder, name: string, options: BuildOptions = {}): TemplateBuild {
  const connection = createConnection(options);
  const { definition } = template;
  const { signal = new AbortController().signal } = options;
  return startBuild(signal, (onProgress) =>
    runBuild(connection, { definition, name, options: { ...options, signal }, onProgress }),
  );
}

interface Run {
  definition: TemplateDefinition;
  name: string;
  options: BuildOptions & { signal: AbortSignal };
  onProgress: (entry: BuildProgress) => void;
}

async function runBuild(connection: Connection, run: Run): Promise<BuildResult> {
  const { definition, name, options, onProgress } = run;
  const { force = false } = options;
  // Before the service is asked for anything, so that a missing file leaves nothing behind.
  const steps = await prepareSteps(definition, options);
  const { data: requested } = await callApi(connection, options, (api, signal) =>
    api.POST('/v3/templates', { body: toRequest(name, options), signal }),
  );
  const { templateID: templateId, buildID: buildId, tags, aliases } = requested;
  for (const [index, copy] of steps.entries()) {
    if (!('contents' in copy) || !(await uploadFiles(connection, { templateId, copy, force }, options)))
      continue;
    const message = `sent the files of COPY ${copy.args.slice(0, 2).join(' ')} (${copy.files.length})`;
    onProgress({ step: String(index + 1), level: 'info', message, time: new Date() });
  }
  await callApi(connection, options, (api, signal) =>
    api.POST('/v2/templates/{templateID}/builds/{buildID}', {
      params: { path: { templateID: templateId, buildID: buildId } },
      body: toStart(definition, steps, force),
      signal,
    }),
  );
  const toLine = (step: string | undefined) => definition.steps[Number(step) - 1]?.line;
  await waitForBuild(connection, { ...options, templateId, buildId, onProgress, toLine });
  return { templateId, buildId, name: aliases[0] ?? name, tags };
}

type PreparedStep =
  | { type: Schemas['BuildStep']['type']; args: string[] }
  | (PreparedCopy & { type: 'COPY' });

async function prepareSteps(
  { steps, ignoreFile }: TemplateDefinition,
  { context = '.', signal }: Run['options'],
): Promise<PreparedStep[]> {
  const opened = steps.some(({ type }) => type === 'COPY') ? openContext(context, ignoreFile) : undefined;
  const prepared: PreparedStep[] = [];
  for (const step of steps) {
    if (step.type !== 'COPY' || opened === undefined) prepared.push(step as PreparedStep);
    else prepared.push({ type: 'COPY', ...(await prepareCopy(step, opened, signal)) });
  }
  return prepared;
}

function toRequest(name: string, { cpuCount, memoryMb, tags }: BuildOptions): Schemas['BuildRequest'] {
  return {
    name,
    ...(cpuCount === undefined ? {} : { cpuCount }),
    ...(memoryMb === undefined ? {} : { memoryMB: memoryMb }),
    ...(tags === undefined ? {} : { tags: [...tags] }),
  };
}

function toStart(
  { source, startCommand, readyCommand, cacheableSteps }: TemplateDefinition,
  steps: readonly PreparedStep[],
  force: boolean,
): Schemas['BuildStart'] {
  return {
    ...toSourceFields(source),
    force,
    steps: steps.map((step, index) => ({
      type: step.type,
      args: step.args,
      ...('hash' in step ? { filesHash: step.hash } : {}),
      ...toForce(index, cacheableSteps),
    })),
    ...(startCommand === undefined ? {} : { startCmd: startCommand }),
    ...(readyCommand === undefined ? {} : { readyCmd: readyCommand }),
  };
}

function toSourceFields(source: TemplateSource) {
  if (source.kind === 'template') return { fromTemplate: source.template };
  const { image, credentials } = source;
  return {
    fromImage: image,
    ...(credentials && { fromImageRegistry: { type: 'registry' as const, ...credentials } }),
  };
}
