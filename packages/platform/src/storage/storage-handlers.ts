import type { PlatformHandlers } from '../handlers/platform-handlers.ts';
import type { Storage } from './storage.ts';

type StorageRoute = 'GET /skerry/v1/system/usage' | 'POST /skerry/v1/system/prune';

/** Handlers of what the server keeps on its disk. */
export const createStorageHandlers = ({
  storage,
}: {
  storage: Storage;
}): Pick<PlatformHandlers, StorageRoute> => ({
  'GET /skerry/v1/system/usage': async () => ({ status: 200, body: await storage.measure() }),
  'POST /skerry/v1/system/prune': async ({ body }) => ({
    status: 200,
    body: await storage.prune({ all: body?.all ?? false }),
  }),
});
