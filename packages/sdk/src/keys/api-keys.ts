import { NotFoundError } from '../errors.ts';
import { callApi, createConnection } from '../transport/connection.ts';
import type { ConnectionOptions } from '../transport/connection-options.ts';

/** How much of what was made with a key may exist at the same time, and how often it may call; what is undefined has no limit. */
export interface ApiKeyLimits {
  /** Sandboxes that are starting, running, pausing or resuming. */
  sandboxes?: number | undefined;
  /** Their memory together, in MiB. */
  memoryMB?: number | undefined;
  /** Calls of the API in one second, for each server. */
  requestsPerSecond?: number | undefined;
}

/** An API key without its secret. */
export interface ApiKeyInfo {
  /** Not a secret. */
  keyId: string;
  name: string;
  /** The only project that it reaches; undefined if it reaches all. */
  project: string | undefined;
  /** Whether it changes nothing. */
  readOnly: boolean;
  limits: ApiKeyLimits;
  /** The parts of the key that may be shown, as in `e2b_4f…9a0c`. */
  mask: string;
  createdAt: Date;
  /** Up to a minute early; undefined if it was never used. */
  lastUsedAt: Date | undefined;
}

/** A new API key. */
export interface CreatedApiKey extends ApiKeyInfo {
  /** The secret, which the server does not show again. */
  key: string;
}

export interface CreateApiKeyOptions extends ConnectionOptions {
  /** What the key is for. */
  name: string;
  /** The only project whose sandboxes, snapshots and templates it reaches; by default it reaches all. */
  project?: string | undefined;
  /** Whether it changes nothing. Default false. */
  readOnly?: boolean | undefined;
  /** The limits of the key; by default it has none. */
  limits?: ApiKeyLimits | undefined;
}

/** The keys with which programs call a server. */
export const apiKeys = {
  /** Creates a key. */
  async create({ name, project, readOnly, limits, ...options }: CreateApiKeyOptions): Promise<CreatedApiKey> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.POST('/api-keys', {
        body: {
          name,
          ...(project !== undefined && { project }),
          ...(readOnly !== undefined && { readOnly }),
          ...(limits !== undefined && { limits: toWireLimits(limits) }),
        },
        signal,
      }),
    );
    return { ...toApiKeyInfo(data), key: data.key };
  },

  /** All keys that are not revoked, newest first. */
  async list(options: ConnectionOptions = {}): Promise<ApiKeyInfo[]> {
    const { data } = await callApi(createConnection(options), options, (api, signal) =>
      api.GET('/api-keys', { signal }),
    );
    return data.map(toApiKeyInfo);
  },

  /** Changes the name of a key. Rejects with `NotFoundError`. */
  async rename(keyId: string, name: string, options: ConnectionOptions = {}): Promise<void> {
    await callApi(createConnection(options), options, (api, signal) =>
      api.PATCH('/api-keys/{apiKeyID}', { params: toPath(keyId), body: { name }, signal }),
    );
  },

  /** Replaces all limits of a key. Rejects with `NotFoundError`. */
  async setLimits(keyId: string, limits: ApiKeyLimits, options: ConnectionOptions = {}): Promise<void> {
    const body = { limits: toWireLimits(limits) };
    await callApi(createConnection(options), options, (api, signal) =>
      api.PATCH('/api-keys/{apiKeyID}', { params: toPath(keyId), body, signal }),
    );
  },

  /** Revokes a key, which every server refuses from then on. False when there is no such key. */
  async revoke(keyId: string, options: ConnectionOptions = {}): Promise<boolean> {
    try {
      await callApi(createConnection(options), options, (api, signal) =>
        api.DELETE('/api-keys/{apiKeyID}', { params: toPath(keyId), signal }),
      );
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  },
};

const toPath = (apiKeyID: string) => ({ path: { apiKeyID } });

// JSON leaves out what is undefined.
const toWireLimits = (limits: ApiKeyLimits) => limits as { [Name in keyof ApiKeyLimits]?: number };

interface WireKey {
  id: string;
  name: string;
  project: string | null;
  readOnly: boolean;
  limits: ApiKeyLimits;
  mask: { prefix: string; maskedValuePrefix: string; maskedValueSuffix: string };
  createdAt: string;
  lastUsed: string | null;
}

const toApiKeyInfo = ({
  id,
  name,
  project,
  readOnly,
  limits,
  mask,
  createdAt,
  lastUsed,
}: WireKey): ApiKeyInfo => ({
  keyId: id,
  name,
  project: project ?? undefined,
  readOnly,
  limits,
  mask: `${mask.prefix}${mask.maskedValuePrefix}…${mask.maskedValueSuffix}`,
  createdAt: new Date(createdAt),
  lastUsedAt: lastUsed === null ? undefined : new Date(lastUsed),
});
