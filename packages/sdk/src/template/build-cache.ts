import type { components } from '@skerry/platform-client';
import { NotFoundError } from '../errors.ts';
import { callApi, createConnection } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';

/** The files after a step of a build, or an image of a registry, that later builds begin with. */
export interface CachedResult {
  /** The key that the log of a build names; equal for equal work. */
  key: string;
  /** The key of the result that it was made on. */
  parent: string | undefined;
  /** The step, without the values of variables. */
  description: string;
  /** What its removal frees. */
  sizeBytes: number;
  createdAt: Date;
  lastUsedAt: Date;
}

export interface PruneOptions extends ConnectionOptions {
  /** Keeps what a build has used in this time. In milliseconds, counted in whole seconds. Default: 0, which removes all. */
  unusedForMs?: number | undefined;
}

/** The results that the service keeps for later builds. */
export const buildCache = {
  /** All of them, the one that was used last first. */
  async list(options: ConnectionOptions = {}): Promise<CachedResult[]> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.GET('/skerry/v1/build-cache', { signal }),
    );
    return data.map(toResult);
  },

  /** Removes a result by its key, and all that were made on it. False when it did not exist. */
  async remove(key: string, options: ConnectionOptions = {}): Promise<boolean> {
    try {
      await callApi(createConnection(options), options, (api, signal) =>
        api.DELETE('/skerry/v1/build-cache/{key}', { params: { path: { key } }, signal }),
      );
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  },

  /** Removes the results that no build has used for a time, and all that were made on them. Returns what was removed. */
  async prune(options: PruneOptions = {}): Promise<CachedResult[]> {
    const unusedFor = Math.floor((options.unusedForMs ?? 0) / 1_000);
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.DELETE('/skerry/v1/build-cache', { params: { query: { unusedFor } }, signal }),
    );
    return data.map(toResult);
  },
};

const toResult = ({ parent, ...result }: components['schemas']['CachedResult']): CachedResult => ({
  key: result.key,
  parent,
  description: result.description,
  sizeBytes: result.sizeBytes,
  createdAt: new Date(result.createdAt),
  lastUsedAt: new Date(result.lastUsedAt),
});
