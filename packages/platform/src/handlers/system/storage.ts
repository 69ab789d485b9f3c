import { unimplemented } from '@skerry/contract/error';
import type { Hosts } from '../../hosts/hosts.ts';
import type { Storage } from '../../storage/storage.ts';
import type { PlatformHandlers } from '../platform-handlers.ts';

type StorageRoute = 'GET /skerry/v1/system/usage' | 'POST /skerry/v1/system/prune';

/** Handlers of what the server keeps on its disk and those of its nodes. */
export const createStorageHandlers = ({
  storage,
  hosts,
}: {
  storage: Storage;
  hosts: Pick<Hosts, 'owned'>;
}): Pick<PlatformHandlers, StorageRoute> => {
  const requireAllDisks = (): void => {
    if (hosts.owned !== 'all')
      throw unimplemented('servers that share nodes cannot measure or prune their disks yet');
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
