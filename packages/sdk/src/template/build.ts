import type { components } from '@skerry/platform-client';
import type { IsolationLevel } from '../sandbox/start-sandbox.ts';
import { type Connection, callApi, createConnection } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';
import { addCredentials, type CredentialsFor } from './add-credentials.ts';
import type { FetchedFile } from './build-files/fetch-file.ts';
import { uploadFiles } from './build-files/upload-files.ts';
import type { BuildResult, TemplateBuild } from './build-handle.ts';
import {
  type RegistryCredentials,
  type StageDefinition,
  type StageSource,
  type TemplateDefinition,
  toStartJson,
} from './definition.ts';
import { type PreparedStep, prepareStages } from './prepare-stages.ts';
import type { TemplateBuilder } from './template.ts';
import { type BuildRun, startBuild, waitForBuild } from './wait-for-build.ts';

type Schemas = components['schemas'];

/** `signal` ends the waiting; a build that was started goes on, unless `cancel` of the handle ends it. */
export interface BuildOptions extends ConnectionOptions {
  /** Processors of each sandbox, 1 or an even number. Default 2. */
  cpuCount?: number | undefined;
  /** Memory of each sandbox in MiB, an even number from 128. Default 1024. */
  memoryMb?: number | undefined;
  /** The level of isolation that its steps run at, and below which none of its sandboxes starts. Default: that of the template or snapshot it begins with. */
  isolation?: IsolationLevel | undefined;
  /** Tags for this build, beside one in the name. Default: `default`, if there is none in the name. */
  tags?: readonly string[] | undefined;
  /** Pulls the image and runs every step, without the cache of the service, and uploads files again that the service has. */
  force?: boolean | undefined;
  /** The folder that `copy` reads. Default: the current folder. */
  context?: string | undefined;
  /**
   * Credentials for an image that has none of its own, or undefined. Called once for each, before anything is sent; they are
   * sent for that image alone. What it throws ends the build.
   */
  credentialsFor?: CredentialsFor | undefined;
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
  return startBuild(connection, options, (run) =>
    runBuild(connection, { ...run, definition, name, options: { ...options, signal: run.signal } }),
  );
}

interface Run extends BuildRun {
  definition: TemplateDefinition;
  name: string;
  options: BuildOptions & { signal: AbortSignal };
}

async function runBuild(connection: Connection, run: Run): Promise<BuildResult> {
  const { definition, onProgress, options } = run;
  const fetched: FetchedFile[] = [];
  try {
    // Before the service is asked for anything, so that a missing file leaves nothing behind.
    const stages = await prepareStages(definition, {
      ...{ context: options.context, signal: options.signal, fetched },
      onFetch: (url) =>
        onProgress({ step: undefined, level: 'info', message: `fetching ${url}`, time: new Date() }),
    });
    return await sendBuild(connection, run, stages);
  } finally {
    for (const file of fetched) file[Symbol.dispose]();
  }
}

async function sendBuild(
  connection: Connection,
  run: Run,
  stages: readonly PreparedStep[][],
): Promise<BuildResult> {
  const { name, options, onProgress, onRegistered } = run;
  const { force = false } = options;
  const steps = stages.flat();
  const definition = await addCredentials(run.definition, options.credentialsFor);
  const { data: requested } = await callApi(connection, options, (api, signal) =>
    api.POST('/v3/templates', { body: toRequest(name, options), signal }),
  );
  const { templateID: templateId, buildID: buildId, tags, aliases } = requested;
  onRegistered({ templateId, buildId });
  for (const [index, { uploads, wire }] of steps.entries())
    for (const copy of uploads) {
      if (!(await uploadFiles(connection, { templateId, copy, force }, options))) continue;
      const message = `sent the files of ${wire.type} ${copy.args.slice(0, 2).join(' ')} (${copy.files.length})`;
      onProgress({ step: String(index + 1), level: 'info', message, time: new Date() });
    }
  await callApi(connection, options, (api, signal) =>
    api.POST('/v2/templates/{templateID}/builds/{buildID}', {
      params: { path: { templateID: templateId, buildID: buildId } },
      body: toStart(definition, stages, force),
      signal,
    }),
  );
  const toLine = (step: string | undefined) => steps[Number(step) - 1]?.line;
  await waitForBuild(connection, { ...options, templateId, buildId, onProgress, toLine });
  return { templateId, buildId, name: aliases[0] ?? name, tags };
}

function toRequest(
  name: string,
  { cpuCount, memoryMb, isolation, tags }: BuildOptions,
): Schemas['BuildRequest'] {
  return {
    name,
    ...(cpuCount === undefined ? {} : { cpuCount }),
    ...(memoryMb === undefined ? {} : { memoryMB: memoryMb }),
    ...(isolation === undefined ? {} : { isolation }),
    ...(tags === undefined ? {} : { tags: [...tags] }),
  };
}

function toStart(
  definition: TemplateDefinition,
  steps: readonly PreparedStep[][],
  force: boolean,
): Schemas['BuildStart'] {
  const { stages = [] } = definition;
  const toStage = (stage: StageDefinition, own: readonly PreparedStep[]) => ({
    ...toSourceFields(stage.source),
    ...(stage.imageConfig && { imageConfig: true }),
    steps: own.map(({ wire }) => wire),
  });
  return {
    ...(stages.length > 0 && { stages: stages.map((stage, index) => toStage(stage, steps[index] ?? [])) }),
    ...toStage(definition, steps.at(-1) ?? []),
    force,
    ...toStartJson(definition),
  };
}

function toSourceFields(source: StageSource) {
  if (source.kind === 'stage') return { fromStage: source.index };
  if (source.kind === 'template') return { fromTemplate: source.template };
  const { image, credentials } = source;
  return {
    fromImage: image,
    ...(credentials && { fromImageRegistry: { type: toRegistryType(credentials), ...credentials } }),
  };
}

function toRegistryType(credentials: RegistryCredentials): 'registry' | 'aws' | 'gcp' {
  if ('serviceAccountJson' in credentials) return 'gcp';
  return 'awsAccessKeyId' in credentials ? 'aws' : 'registry';
}
