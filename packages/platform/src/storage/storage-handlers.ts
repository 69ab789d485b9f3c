import { unimplemented } from '@skerry/contract/error';
import type { PlatformHandlers } from '../handlers/platform-handlers.ts';
import type { Storage } from './storage.ts';

type StorageRoute = 'GET /skerry/v1/system/usage' | 'POST /skerry/v1/system/prune';

/** Handlers of what the server keeps on its disk and those of its nodes. */
export const createStorageHandlers = ({
  storage,
  isShared,
}: {
  storage: Storage;
  /** Whether other servers act for some of the nodes. */
  isShared: boolean;
}): Pick<PlatformHandlers, StorageRoute> => {
  const requireAllDisks = (): void => {
    if (isShared) throw unimplemented('servers that share nodes cannot measure or prune their disks yet');
  };
  return {
    'GET /skerry/v1/system/usage': async () => {
      requireAllDisks();
      return { status: 200, body: await storage.measure() };
    },
    'POST /skerry/v1/system/prune': async ({ body }) => {
      requireAllDisks();
      return { status: 200, body: await storage.prune({ all: body?.all ?? false }) };
    },
  };
};
