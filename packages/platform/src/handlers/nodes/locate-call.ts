import type { OtherServers } from '../../hosts/other-servers.ts';
import type { Call } from '../../http/forward-calls.ts';
import { EVERYTHING } from '../../store/scope.ts';
import type { Store } from '../../store/store.ts';
import { requireTemplateState } from '../templates/find-template.ts';

/** What only reads the database: its answer is the same on each server. */
const everywhere = '/sandboxes/:sandboxID';

/** What one server at a time does: that which has the files of builds. */
const ofBuilder = /^\/((v2\/|v3\/)?templates|skerry\/v1\/(templates|images|build-cache))\b/;
/** The paths of `ofBuilder` that need files of the builder; the others only need the database. */
const filesOfBuilder = /\/(files|images)\//;

/**
 * Finds the server that makes a call: resolves with its address, or undefined when it is this one or any. Rejects with `unavailable` when
 * no server can make it now.
 */
export const createLocateCall = ({
  store,
  servers,
}: {
  store: Store;
  servers: Pick<OtherServers, 'serverOf' | 'builder'>;
}): ((call: Call) => Promise<string | undefined>) => {
  const nodeOfFiles = async (text: string | undefined): Promise<string | null> => {
    if (text === undefined) return null;
    const sandbox = await store.findSandbox(text);
    if (sandbox !== undefined) return sandbox.node;
    // The handler reports what is wrong with it.
    const found = await requireTemplateState({ store, scope: EVERYTHING }, text).catch(() => undefined);
    return found?.snapshot?.node ?? null;
  };

  return async ({ method, pattern, params, query }) => {
    const { sandboxID, snapshotID, nodeName } = params;
    if (sandboxID !== undefined) {
      if (method === 'GET' && pattern === everywhere) return undefined;
      return servers.serverOf((await store.findSandbox(sandboxID))?.node ?? null);
    }
    // Cordons are records.
    if (nodeName !== undefined)
      return method === 'DELETE' || pattern.endsWith('/drain') ? servers.serverOf(nodeName) : undefined;
    if (snapshotID !== undefined) return servers.serverOf(await nodeOfFiles(snapshotID));
    if (pattern === '/skerry/v1/snapshots/diff')
      return servers.serverOf((await nodeOfFiles(query.to)) ?? (await nodeOfFiles(query.from)));
    const isRead = method === 'GET' && !filesOfBuilder.test(pattern);
    return ofBuilder.test(pattern) && !isRead ? servers.builder() : undefined;
  };
};
