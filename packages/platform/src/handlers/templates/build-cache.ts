import type { components } from '@skerry/platform-client';
import type { CachedResult } from '../../templates/cache/build-cache.ts';
import type { HandlerContext, PlatformHandlers } from '../platform-handlers.ts';

type CacheRoute =
  | 'GET /skerry/v1/build-cache'
  | 'DELETE /skerry/v1/build-cache'
  | 'DELETE /skerry/v1/build-cache/{key}';

/** Handlers that list and clear the cache of builds. */
export const createBuildCacheHandlers = ({
  templateBuilder,
}: Pick<HandlerContext, 'templateBuilder'>): Pick<PlatformHandlers, CacheRoute> => ({
  'GET /skerry/v1/build-cache': async () => ({
    status: 200,
    body: (await templateBuilder.listCached()).map(toReply),
  }),
  'DELETE /skerry/v1/build-cache': async ({ query }) => {
    const { unusedFor = 0 } = query;
    return {
      status: 200,
      body: (await templateBuilder.pruneCached({ unusedForMs: unusedFor * 1_000 })).map(toReply),
    };
  },
  'DELETE /skerry/v1/build-cache/{key}': async ({ params }) => {
    await templateBuilder.removeCached(params.key);
    return { status: 204 };
  },
});

const toReply = (result: CachedResult): components['schemas']['CachedResult'] => ({
  key: result.key,
  ...(result.parent !== null && { parent: result.parent }),
  description: result.description,
  sizeBytes: result.sizeBytes,
  createdAt: new Date(result.createdAt).toISOString(),
  lastUsedAt: new Date(result.lastUsedAt).toISOString(),
});
