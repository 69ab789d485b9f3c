import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiError, isUnavailable } from '@skerry/contract/error';
import type { Clock } from './clock.ts';
import { ensureSecretFile } from './secret-file.ts';
import type { ApiKeyRow, NewApiKey } from './store/api-keys/api-key-row.ts';
import type { Scope } from './store/scope.ts';
import type { Store } from './store/store.ts';

const form = /^e2b_[0-9a-f]{40}$/;
const PREFIX = 'e2b_';
const VALUE_BYTES = 20;

// A use is recorded at most this often, so that a busy client does not cost a disk write for each request.
const TOUCH_INTERVAL_MS = 60_000;

/** A new key. */
export const makeApiKey = (): string => `${PREFIX}${randomBytes(VALUE_BYTES).toString('hex')}`;

/** A new secret of an installation. */
export const makeSecret = (): string => randomBytes(32).toString('hex');

const toHash = (key: string): string => createHash('sha256').update(key).digest('hex');

/** The row of a new key. */
export const toApiKeyRow = (
  key: string,
  given: Pick<NewApiKey, 'name' | 'project' | 'readOnly' | 'limits' | 'createdAt'>,
): NewApiKey => ({
  id: randomUUID(),
  hash: toHash(key),
  firstCharacters: key.slice(PREFIX.length, PREFIX.length + 2),
  lastCharacters: key.slice(-4),
  ...given,
});

/**
 * The key of this installation, made at the first start: `api-key` in the data folder contains it, so that the owner
 * can read it again; the store has its hash only. If the file is removed or its key was revoked, the next start makes a new key; a key
 * that was not revoked stays valid.
 */
export const ensureApiKey = async ({
  dataDir,
  store,
  clock,
}: {
  dataDir: string;
  store: Pick<Store, 'addApiKey'>;
  clock: Pick<Clock, 'now'>;
}): Promise<string> => {
  const path = join(dataDir, 'api-key');
  const key = await ensureSecretFile(path, makeApiKey);
  if (!form.test(key)) throw new Error(`${path} does not contain an API key (e2b_ and 40 hex digits)`);
  const limits = { project: null, readOnly: false, limits: {} };
  const row = toApiKeyRow(key, { name: 'server', ...limits, createdAt: clock.now() });
  if (await store.addApiKey(row)) return key;
  await rm(path);
  return ensureApiKey({ dataDir, store, clock });
};

/** The secret from which the tokens of sandboxes are derived, and with which variables in the database are encrypted: the database cannot be read with another. */
export const ensureSecret = (options: { dataDir: string }): Promise<string> =>
  ensureSecretFile(join(options.dataDir, 'secret'), makeSecret);

/**
 * Resolves with the row of a known key and rejects with `unauthenticated` for a missing, malformed or unknown one. Keys are looked
 * up by their hash, so the time does not reveal the characters of a key; each time, so that a revoked one is refused by every server at once.
 */
export const createAuthenticate =
  ({ store, clock }: { store: Pick<Store, 'findApiKey' | 'touchApiKey'>; clock: Clock }) =>
  async (header: string | string[] | undefined): Promise<ApiKeyRow> => {
    if (header === undefined || header === '') {
      throw new ApiError('unauthenticated', 'the header X-API-Key is missing');
    }
    if (typeof header !== 'string' || !form.test(header)) {
      throw new ApiError(
        'unauthenticated',
        'the API key is malformed: e2b_ and 40 lower-case hex digits are expected',
      );
    }
    const key = await store.findApiKey(toHash(header));
    if (key === undefined) throw new ApiError('unauthenticated', 'the API key is unknown or was revoked');
    const now = clock.now();
    if (key.lastUsedAt === null || now - key.lastUsedAt >= TOUCH_INTERVAL_MS)
      // What only reads works while the database is read-only or its disk is full.
      await store.touchApiKey(key.hash, now).catch((error: unknown) => {
        if (!isUnavailable(error)) throw error;
      });
    return key;
  };

/** What the caller with a key may see and change. */
export const toScope = ({ project, readOnly }: Pick<ApiKeyRow, 'project' | 'readOnly'>): Scope => ({
  project,
  isReadOnly: readOnly,
});

/** What a key shows of itself: what each begins with, and how many characters follow. */
export const KEY_SHAPE = { prefix: PREFIX, valueLength: 2 * VALUE_BYTES } as const;
