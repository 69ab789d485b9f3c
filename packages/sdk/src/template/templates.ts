import type { components } from '@skerry/platform-client';
import { NotFoundError } from '../errors.ts';
import type { IsolationLevel } from '../sandbox/start-sandbox.ts';
import { callApi, createConnection } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';
import type { BuildProgress, TemplateBuild } from './build-handle.ts';
import { followBuild } from './follow-build.ts';
import { type LoadOptions, loadImage, type SavedImage, saveImage } from './image-archive.ts';

export type TemplateBuildStatus = 'waiting' | 'building' | 'ready' | 'error';

/** A template and its latest build. */
export interface TemplateInfo {
  templateId: string;
  /** Names with namespace. */
  names: string[];
  /** Names without namespace. */
  aliases: string[];
  /** The latest build. */
  buildId: string;
  buildStatus: TemplateBuildStatus;
  buildCount: number;
  cpuCount: number;
  memoryMiB: number;
  diskSizeMiB: number;
  /** The level below which none of its sandboxes starts. Undefined when it demands none. */
  isolation: IsolationLevel | undefined;
  createdAt: Date;
  updatedAt: Date;
  /** Absent when no sandbox was created from it. */
  lastSpawnedAt: Date | undefined;
  spawnCount: number;
}

/** A tag and the build that it points to. */
export interface TemplateTag {
  tag: string;
  buildId: string;
  createdAt: Date;
}

export interface BuildLogOptions extends ConnectionOptions {
  templateId: string;
  buildId: string;
  /** Waits for the end of a build that runs. Default false. */
  follow?: boolean | undefined;
  onProgress: (entry: BuildProgress) => void;
}

/** Templates of the service that were built, and that of the installation. */
export const templates = {
  /** All templates that the API key sees. Snapshots are not among them. */
  async list(options: ConnectionOptions = {}): Promise<TemplateInfo[]> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.GET('/templates', { signal }),
    );
    return data.map(toTemplateInfo);
  },

  /** Deletes a template by its id or name; with a tag, that tag. False when it did not exist. Rejects with `invalid_argument` while it is used. */
  async delete(nameOrId: string, options: ConnectionOptions = {}): Promise<boolean> {
    return isFound(
      callApi(createConnection(options), options, (api, signal) =>
        api.DELETE('/templates/{templateID}', { params: { path: { templateID: nameOrId } }, signal }),
      ),
    );
  },

  /** Whether there is a template of that name. */
  async exists(name: string, options: ConnectionOptions = {}): Promise<boolean> {
    return isFound(
      callApi(createConnection(options), options, (api, signal) =>
        api.GET('/templates/aliases/{alias}', { params: { path: { alias: name } }, signal }),
      ),
    );
  },

  /** Points tags to what `target` names: `name`, `name:tag` or `name:buildId`. Rejects with `not_found`. */
  async addTags(target: string, tags: readonly string[], options: ConnectionOptions = {}): Promise<void> {
    await callApi(createConnection(options), options, (api, signal) =>
      api.POST('/templates/tags', { body: { target, tags: [...tags] }, signal }),
    );
  },

  /** Removes tags of a template; the builds stay. Rejects with `not_found`, and with `invalid_argument` for `default`. */
  async removeTags(name: string, tags: readonly string[], options: ConnectionOptions = {}): Promise<void> {
    await callApi(createConnection(options), options, (api, signal) =>
      api.DELETE('/templates/tags', { body: { name, tags: [...tags] }, signal }),
    );
  },

  /** The tags of a template, by its id or name. Rejects with `not_found`. */
  async listTags(nameOrId: string, options: ConnectionOptions = {}): Promise<TemplateTag[]> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.GET('/templates/{templateID}/tags', { params: { path: { templateID: nameOrId } }, signal }),
    );
    return data.map(({ tag, buildID, createdAt }) => ({
      tag,
      buildId: buildID,
      createdAt: new Date(createdAt),
    }));
  },

  /**
   * Begins a template with the image in an archive: an OCI image layout or what `docker save` writes, in a tar archive, plain, gzip or
   * zstd. A stream is read as it is sent. The handle and its errors are those of `build`.
   */
  load(name: string, archive: Blob | ReadableStream<Uint8Array>, options: LoadOptions = {}): TemplateBuild {
    return loadImage(name, archive, options);
  },

  /**
   * The file system and variables of a template as an OCI image layout in a tar archive, and its length in bytes. Rejects with
   * `not_found`, and with `invalid_argument` for a snapshot. Cancel the stream if you do not read it to its end.
   */
  async save(nameOrId: string, options: ConnectionOptions = {}): Promise<SavedImage> {
    return saveImage(nameOrId, options);
  },

  /** Reads the log of a build from its beginning, and returns its state. Rejects with `not_found`. */
  async readBuildLog(options: BuildLogOptions): Promise<TemplateBuildStatus> {
    const { follow: untilEnd = false, ...rest } = options;
    const { status } = await followBuild(createConnection(options), { ...rest, untilEnd });
    return status;
  },
};

async function isFound(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}

const toTemplateInfo = (template: components['schemas']['Template']): TemplateInfo => ({
  templateId: template.templateID,
  names: template.names,
  aliases: template.aliases,
  buildId: template.buildID,
  buildStatus: template.buildStatus,
  buildCount: template.buildCount,
  cpuCount: template.cpuCount,
  memoryMiB: template.memoryMB,
  diskSizeMiB: template.diskSizeMB,
  isolation: template.isolation,
  createdAt: new Date(template.createdAt),
  updatedAt: new Date(template.updatedAt),
  lastSpawnedAt: template.lastSpawnedAt === null ? undefined : new Date(template.lastSpawnedAt),
  spawnCount: template.spawnCount,
});
