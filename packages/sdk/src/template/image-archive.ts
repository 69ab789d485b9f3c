import { toSandboxError } from '../errors.ts';
import type { IsolationLevel } from '../sandbox/start-sandbox.ts';
import { type Connection, callApi, createConnection } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';
import type { BuildResult, TemplateBuild } from './build-handle.ts';
import { type BuildRun, startBuild, waitForBuild } from './wait-for-build.ts';

/** `signal` ends the upload, and later the waiting; a build that was started goes on. */
export interface LoadOptions extends ConnectionOptions {
  /** Processors of each sandbox, 1 or an even number. Default 2. */
  cpuCount?: number | undefined;
  /** Memory of each sandbox in MiB, an even number from 128. Default 1024. */
  memoryMb?: number | undefined;
  /** The level of isolation below which none of its sandboxes starts. Default: none. */
  isolation?: IsolationLevel | undefined;
  /** The name, such as `app:v2`, or the digest of an image in the archive. Default: the only one. */
  image?: string | undefined;
  /** Tags for this build, beside one in the name. Default: `default`, if there is none in the name. */
  tags?: readonly string[] | undefined;
}

/** An image as an archive, which is sent while it is read. */
export interface SavedImage {
  archive: ReadableStream<Uint8Array>;
  sizeBytes: number;
}

type Archive = Blob | ReadableStream<Uint8Array>;

/** Makes a template of an archive, for `templates.load`. */
export function loadImage(name: string, archive: Archive, options: LoadOptions): TemplateBuild {
  const connection = createConnection(options);
  return startBuild(connection, options, (run) =>
    runLoad(connection, { ...run, name, archive, options: { ...options, signal: run.signal } }),
  );
}

async function runLoad(
  connection: Connection,
  {
    name,
    archive,
    options,
    onProgress,
    onRegistered,
  }: BuildRun & { name: string; archive: Archive; options: LoadOptions & { signal: AbortSignal } },
): Promise<BuildResult> {
  const { image, cpuCount, memoryMb, isolation, tags: wanted } = options;
  const query = {
    name,
    ...(image !== undefined && { image }),
    ...(wanted !== undefined && { tags: [...wanted] }),
    ...(cpuCount !== undefined && { cpuCount }),
    ...(memoryMb !== undefined && { memoryMB: memoryMb }),
    ...(isolation !== undefined && { isolation }),
  };
  // However long it takes: a large archive on a slow line is no failure.
  const upload = { ...options, requestTimeoutMs: 0 };
  const { data } = await callApi(connection, upload, (api, signal) =>
    api.POST('/skerry/v1/images', {
      params: { query },
      body: archive as never,
      bodySerializer: (body) => body as BodyInit,
      headers: { 'content-type': 'application/octet-stream' },
      // Not the one that repeats a request, and for that keeps its body.
      fetch: connection.fetch ?? ((request) => globalThis.fetch(request)),
      // A stream as a body has to say so; the type of the DOM does not have the field.
      ...({ duplex: 'half' } as object),
      signal,
    }),
  );
  const { templateID: templateId, buildID: buildId, tags, aliases } = data;
  onRegistered({ templateId, buildId });
  await waitForBuild(connection, { ...options, templateId, buildId, onProgress });
  return { templateId, buildId, name: aliases[0] ?? name, tags };
}

/** Reads a template as an archive, for `templates.save`. */
export async function saveImage(nameOrId: string, options: ConnectionOptions): Promise<SavedImage> {
  const { data, response } = await callApi(
    createConnection({ ...options, requestTimeoutMs: 0 }),
    { ...options, requestTimeoutMs: 0 },
    (api, signal) =>
      api.GET('/skerry/v1/images/{templateID}', {
        params: { path: { templateID: nameOrId } },
        parseAs: 'stream',
        signal,
      }),
  );
  if (data === null || data === undefined)
    throw toSandboxError('internal', 'the service has sent no archive');
  return {
    archive: data as ReadableStream<Uint8Array>,
    sizeBytes: Number(response.headers.get('content-length')),
  };
}
