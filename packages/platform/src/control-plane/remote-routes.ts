import type { Directory, Route } from '@skerry/contract/directory';
import type { Hosts } from '../hosts/hosts.ts';
import type { Live } from '../sandboxes/running-handles.ts';
import type { Store } from '../store/store.ts';
import { toRouteKeys } from '../tokens.ts';

/** Routes to the sandboxes for which another server acts: through the door of their node, as their rows say. */
export interface RemoteRoutes {
  /** The sandboxes of this server first, then those of the others. */
  readonly directory: Omit<Directory, 'findDormant'>;
  /** Goes on with the connections of a sandbox that another server has taken over. */
  follow(id: string, runId: string): void;
  /** Looks up which of the runs that were routed to have ended. */
  check(): Promise<void>;
}

export const createRemoteRoutes = ({
  store,
  live,
  hosts,
  secret,
}: {
  store: Pick<Store, 'findSandbox' | 'listRuns'>;
  live: Live;
  hosts: Pick<Hosts, 'servers' | 'owned'>;
  secret: string;
}): RemoteRoutes => {
  /** Runs by sandbox. */
  const followed = new Map<string, string>();
  const listeners = new Set<(sandboxId: string, runId: string) => void>();

  const end = (id: string, runId: string): void => {
    for (const listener of listeners) listener(id, runId);
  };

  const findRemote = async (id: string): Promise<Route | undefined> => {
    // There is no other server.
    if (hosts.owned === 'all') return undefined;
    const row = await store.findSandbox(id);
    if (row?.state !== 'running' || row.node === null || row.runId === null) return undefined;
    const { node, runId } = row;
    const open = hosts.servers.openDoor(node);
    if (open === undefined) return undefined;
    const former = followed.get(id);
    if (former !== undefined && former !== runId) end(id, former);
    followed.set(id, runId);
    return {
      runId,
      ...toRouteKeys(secret, row, runId),
      connect: (port, options) => open({ instance: id, runId }, port, options),
    };
  };

  const find = async (id: string): Promise<Route | undefined> =>
    (await live.directory.find(id)) ?? (await findRemote(id));

  return {
    directory: {
      find: async (id) => {
        const route = await find(id);
        if (route === undefined) return undefined;
        const { runId } = route;
        return {
          ...route,
          // The owner may be another one by then.
          connect: async (port, options) => {
            const now = await find(id);
            return (now?.runId === runId ? now : route).connect(port, options);
          },
        };
      },
      onEnd: (listener) => {
        const stop = live.directory.onEnd((id, runId) => {
          followed.delete(id);
          listener(id, runId);
        });
        listeners.add(listener);
        return () => {
          stop();
          listeners.delete(listener);
        };
      },
    },
    follow: (id, runId) => void followed.set(id, runId),
    check: async () => {
      const asked = [...followed];
      const running = new Map(
        (await store.listRuns(asked.map(([id]) => id))).map((run) => [run.id, run.runId]),
      );
      for (const [id, runId] of asked) {
        const isOver = running.get(id) !== runId;
        // Leave the end of sandboxes of this server to the server's own runtime events.
        if ((isOver || live.has(id)) && followed.get(id) === runId) followed.delete(id);
        if (isOver && !live.has(id)) end(id, runId);
      }
    },
  };
};
