import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { toSandboxError } from '../../errors.ts';
import { type CallOptions, runCall } from '../../transport/call.ts';
import { type Connection, callApi } from '../../transport/connection.ts';
import { fromResponse } from '../../transport/from-response.ts';
import type { CopyStep } from '../definition.ts';
import { DockerfileError } from '../dockerfile/refused.ts';
import type { BuildFile } from './build-file.ts';
import { type FoundFiles, findFiles } from './find-files.ts';
import { type FilesHash, hashFiles } from './hash-files.ts';
import { isArchive } from './local-archive.ts';
import type { BuildFolder } from './open-folder.ts';
import { packFiles } from './pack-files.ts';

/** A step that copies, with what it copies. */
export interface PreparedCopy extends FilesHash {
  type: 'COPY';
  args: string[];
  dockerfile: boolean;
  files: BuildFile[];
  /** The path of an archive that is sent as it is, in place of one of the files. */
  archive: string | undefined;
  line: number | undefined;
}

/**
 * Finds and hashes the files of a step, as one step or, when ADD finds archives, as several. Rejects with `invalid_argument`, with the
 * line of the Dockerfile if there is one.
 */
export async function prepareCopy(
  step: CopyStep & { line?: number },
  context: BuildFolder,
  signal: AbortSignal,
): Promise<PreparedCopy[]> {
  const { line, dockerfile, dest, mode } = step;
  const parts = atLine(line, () => findParts(step, context));
  const prepared: PreparedCopy[] = [];
  for (const { src, files, archive } of parts) {
    const user = step.user || (dockerfile && !archive ? 'root' : '');
    const args = [src, dest, user, mode];
    const hash = await hashFiles(archive ? [...args, 'archive'] : args, files, signal);
    prepared.push({
      ...{ type: 'COPY', args, dockerfile: dockerfile !== undefined, files, archive, line },
      ...hash,
    });
  }
  return prepared;
}

type Part = FoundFiles & { archive?: string };

/** ADD unpacks the archives among its sources, and copies the others. */
function findParts(step: CopyStep, context: BuildFolder): Part[] {
  const found = findFiles(step, context);
  if (step.dockerfile !== 'add') return [found];
  const isOf = (file: BuildFile): boolean => file.isSource === true && file.type === 'file';
  const archives = found.files.filter((file) => isOf(file) && isArchive(file.path));
  if (archives.length === 0) return [found];
  const rest = found.files.filter((file) => !archives.includes(file));
  return [
    ...archives.map((file) => ({ src: '.', files: [file], archive: file.path })),
    ...(rest.length > 0 ? [{ src: found.src, files: rest }] : []),
  ];
}

/** Finds and hashes what a RUN mounts of the context. Rejects as `prepareCopy` does. */
export async function prepareMount(
  { src, target, line }: { src: string; target: string; line: number | undefined },
  context: BuildFolder,
  signal: AbortSignal,
): Promise<PreparedCopy> {
  const { files, src: source } = atLine(line, () => findFiles({ src, layout: 'flat' }, context));
  const args = [source, target];
  const hash = await hashFiles(args, files, signal);
  return { type: 'COPY', args, dockerfile: true, files, archive: undefined, line, ...hash };
}

function atLine<T>(line: number | undefined, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (line === undefined) throw error;
    throw new DockerfileError(line, (error as Error).message, { cause: error });
  }
}

/** Sends the archive of a step unless the service has it, or `force` is set. True when it was sent. */
export async function uploadFiles(
  connection: Connection,
  { templateId, copy, force }: { templateId: string; copy: PreparedCopy; force: boolean },
  options: CallOptions & { signal: AbortSignal },
): Promise<boolean> {
  const path = { templateID: templateId, hash: copy.hash };
  const { data } = await callApi(connection, options, (api, signal) =>
    api.GET('/templates/{templateID}/files/{hash}', { params: { path }, signal }),
  );
  if (data.url === undefined || (data.present && !force)) {
    if (data.present) return false;
    throw toSandboxError('internal', 'the service has no place for the files of a template');
  }
  await put(connection, copy, { url: new URL(data.url, connection.apiUrl), headers: data.headers, options });
  return true;
}

interface Target {
  url: URL;
  headers: Record<string, string> | undefined;
  options: CallOptions;
}

/** However long it takes: a large archive on a slow line is no failure. */
async function put(
  connection: Connection,
  copy: PreparedCopy,
  { url, headers, options }: Target,
): Promise<void> {
  const archive: Readable = copy.archive
    ? createReadStream(copy.archive)
    : packFiles(copy.files, copy.contents);
  let reason: Error | undefined;
  archive.once('error', (error) => {
    reason = error;
  });
  const send = connection.fetch ?? globalThis.fetch;
  try {
    await runCall({ signal: options.signal, requestTimeoutMs: 0 }, 0, async (signal) => {
      const body = Readable.toWeb(archive) as ReadableStream<Uint8Array>;
      const init = {
        method: 'PUT',
        headers: { 'content-type': 'application/octet-stream', ...headers },
        body,
        redirect: 'manual',
      };
      // A stream as a body has to say so; the type of the DOM does not have the field.
      const response = await send(url, { ...init, duplex: 'half', signal } as RequestInit);
      const { status } = response;
      const text = await response.text();
      if (!response.ok) throw fromResponse({ status, headers: response.headers, body: text });
    });
  } catch (error) {
    // What ended the archive, which a failed request only wraps.
    throw reason ?? error;
  } finally {
    archive.destroy();
  }
}
