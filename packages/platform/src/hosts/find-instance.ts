import { type Instance, isRuntimeError } from '@skerry/runtime';
import type { Host, Hosts } from './hosts.ts';

/** Where the record of a sandbox says that it is. */
export interface Placed {
  id: string;
  node: string | null;
}

/** Rejects as `Hosts.of` and `Runtime.get` do. */
export const getInstance = async (hosts: Pick<Hosts, 'of'>, { id, node }: Placed): Promise<Instance> =>
  hosts.of(node).runtime.get(id);

/** Undefined when the host has no such instance. Rejects when it cannot answer. */
export const findInstanceOn = (host: Host, id: string): Promise<Instance | undefined> =>
  findInstance({ of: () => host }, { id, node: host.node });

/** Undefined when its host has no such instance, or it is on none. Rejects when the host cannot answer. */
export const findInstance = async (
  hosts: Pick<Hosts, 'of'>,
  sandbox: Placed,
): Promise<Instance | undefined> => {
  try {
    return await getInstance(hosts, sandbox);
  } catch (error) {
    if (isRuntimeError(error, 'not_found')) return undefined;
    throw error;
  }
};
