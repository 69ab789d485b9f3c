import { unimplemented } from '@skerry/contract/error';
import type { PlatformHandlers } from '../handlers/platform-handlers.ts';
import type { Storage } from './storage.ts';

type StorageRoute = 'GET /skerry/v1/system/usage' | 'POST /skerry/v1/system/prune';

/** Handlers of what the server keeps on its disk. */
export const createStorageHandlers = ({
  storage,
  isOnNodes,
}: {
  storage: Storage;
  /** Whether all that takes space is on other machines. */
  isOnNodes: boolean;
}): Pick<PlatformHandlers, StorageRoute> => {
  const requireOwnDisk = (): void => {
    if (isOnNodes) throw unimplemented('a server with nodes cannot measure or prune their disks yet');
  };
  return {
    'GET /skerry/v1/system/usage': async () => {
      requireOwnDisk();
      return { status: 200, body: await storage.measure() };
    },
    'POST /skerry/v1/system/prune': async ({ body }) => {
      requireOwnDisk();
      return { status: 200, body: await storage.prune({ all: body?.all ?? false }) };
    },
  };
};
