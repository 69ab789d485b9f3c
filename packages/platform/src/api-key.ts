import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ApiError } from '@skerry/contract/error';
import type { Clock } from './clock.ts';
import { ensureSecretFile } from './secret-file.ts';
import type { Store } from './store/store.ts';

const form = /^e2b_[0-9a-f]{40}$/;

// A use is recorded at most this often, so that a busy client does not cost a disk write for each request.
const TOUCH_INTERVAL_MS = 60_000;

/** A new key of an installation. */
export const makeApiKey = (): string => `e2b_${randomBytes(20).toString('hex')}`;

/** A new secret of an installation. */
export const makeSecret = (): string => randomBytes(32).toString('hex');

const toHash = (key: string): string => createHash('sha256').update(key).digest('hex');

/** The part of a key that may be shown: its prefix and its last four characters. */
export const toKeyMask = (key: string): string => `${key.slice(0, 4)}…${key.slice(-4)}`;

/**
 * The key of this installation, made at the first start: `api-key` in the data folder contains it, so that the owner
 * can read it again; the store has its hash only. If the file is removed, the next start makes a new key, and the old
 * one stays valid.
 */
export const ensureApiKey = async (options: {
  dataDir: string;
  store: Pick<Store, 'addApiKey'>;
  clock: Clock;
}): Promise<string> => {
  const path = join(options.dataDir, 'api-key');
  const key = await ensureSecretFile(path, makeApiKey);
  if (!form.test(key)) throw new Error(`${path} does not contain an API key (e2b_ and 40 hex digits)`);
  const createdAt = options.clock.now();
  await options.store.addApiKey({
    hash: toHash(key),
    mask: toKeyMask(key),
    name: 'first key',
    createdAt,
    lastUsedAt: null,
  });
  return key;
};

/** The secret from which the tokens of sandboxes are derived, and with which variables in the database are encrypted: the database cannot be read with another. */
export const ensureSecret = (options: { dataDir: string }): Promise<string> =>
  ensureSecretFile(join(options.dataDir, 'secret'), makeSecret);

/**
 * Resolves for a known key and rejects with `unauthenticated` for a missing, malformed or unknown one. Keys are looked
 * up by their hash, so the time does not reveal the characters of a key.
 */
export const createAuthenticate = ({
  store,
  clock,
}: {
  store: Pick<Store, 'findApiKey' | 'touchApiKey'>;
  clock: Clock;
}) => {
  return async (header: string | string[] | undefined): Promise<void> => {
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
    if (key === undefined) throw new ApiError('unauthenticated', 'the API key is unknown');
    const now = clock.now();
    if (key.lastUsedAt === null || now - key.lastUsedAt >= TOUCH_INTERVAL_MS)
      // What only reads works while the database is read-only or its disk is full.
      await store.touchApiKey(key.hash, now).catch((error: unknown) => {
        if (!(error instanceof ApiError && error.code === 'unavailable')) throw error;
      });
  };
};
