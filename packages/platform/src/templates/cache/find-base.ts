import type { CacheEntry } from '../../store/cache/cache-rows.ts';
import type { BuildLog } from '../build-log.ts';
import type { BuildCache } from './build-cache.ts';
import type { Maker, WorkShare } from './shared-work.ts';

export interface BaseWork {
  log: BuildLog;
  share: WorkShare;
  signal: AbortSignal;
  /** Whether it is made anew in any case. */
  force: boolean;
}

/**
 * Looks in the cache for what a build begins with, after the work of another build on it. Undefined: this build has to make it, to
 * keep it under that key, and to call `done` of the share. `work` says what that is, for the log of one that waits. Rejects with the reason of
 * `signal`.
 */
export const findBase = async (
  key: string,
  { work, log, share, signal, force, cache }: BaseWork & { work: string; cache: BuildCache },
): Promise<CacheEntry | undefined> => {
  const look = async () => {
    const found = force ? undefined : (await cache.findLast([key]))?.entry;
    const isMissing = !force && found === undefined;
    return { found, wanted: isMissing ? [key] : [], makes: found === undefined ? [key] : [] };
  };
  const onWait = (maker: Maker): void => {
    const who = maker === 'this build' ? 'another stage of this build' : 'another build';
    log.add({ level: 'info', message: `waiting for ${who}, which ${work} now`, step: 'base' });
  };
  return share.settle(look, { onWait, signal });
};
