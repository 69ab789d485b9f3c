import { ApiError, conflict, unimplemented } from '@skerry/contract/error';
import { isRuntimeError, type NetworkPolicy, RuntimeLostError } from '@skerry/runtime';
import { OPEN_NETWORK } from '@skerry/runtime/network';
import type { Clock } from '../clock.ts';
import { getInstance, type Placed } from '../hosts/find-instance.ts';
import type { Hosts } from '../hosts/hosts.ts';
import type { Log } from '../log.ts';
import { toLostError } from '../runtime-lost.ts';
import type { SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Transitions } from './transitions.ts';
import { explainMissing, requireRunning } from './visible-state.ts';

/** Replaces the network policies of running sandboxes. */
export interface NetworkRules {
  /**
   * Resolves when the policy holds; null: open. It stays over pause and resume, and copies of the sandbox have it. Rejects with `not_found`
   * unless the sandbox is running, `conflict` while another operation changes it, and `unimplemented` when its level cannot do this: the
   * policy before holds then. When it rejects otherwise, the new policy is on record and is applied within a minute.
   */
  replace(id: string, policy: NetworkPolicy | null): Promise<void>;
  /** Applies what is on record and did not reach its sandbox, as when the server was killed in between. */
  complete(): Promise<void>;
}

export interface NetworkRulesOptions {
  store: Store;
  hosts: Pick<Hosts, 'of'>;
  transitions: Transitions;
  clock: Clock;
  log: Log;
  /** Lists the running sandboxes of this server whose policy is on record only. */
  listPending(): Promise<SandboxRow[]>;
}

export const createNetworkRules = (options: NetworkRulesOptions): NetworkRules => {
  const { store, hosts, transitions, clock, log } = options;

  const apply = async (sandbox: Placed, policy: NetworkPolicy | null): Promise<void> => {
    const instance = await getInstance(hosts, sandbox);
    await instance.setNetwork(policy ?? OPEN_NETWORK);
    await store.confirmNetwork(sandbox.id);
  };

  const replace = async (id: string, policy: NetworkPolicy | null): Promise<void> => {
    const before = await requireRunning(options, id);
    if (!(await store.setNetwork(id, policy))) throw await explainMissing({ store, clock }, id);
    try {
      await apply(before, policy);
    } catch (error) {
      if (!isRuntimeError(error, 'unsupported')) throw toError(id, error);
      await store.setNetwork(id, before.network);
      await store.confirmNetwork(id);
      throw unimplemented(`the network of sandbox "${id}" cannot be changed: ${error.message}`, {
        cause: error,
      });
    }
  };

  return {
    replace: async (id, policy) => {
      let current = transitions.current(id);
      while (current?.kind === 'network') {
        await current.over;
        current = transitions.current(id);
      }
      if (current !== undefined) throw conflict(`sandbox "${id}" is busy with another operation`);
      await transitions.run(id, 'network', () => replace(id, policy));
    },
    complete: async () => {
      for (const row of await options.listPending()) {
        const { id, network } = row;
        if (transitions.current(id) !== undefined) continue;
        await transitions
          .run(id, 'network', () => apply(row, network))
          .catch((error) => log.error('a network policy could not be applied', { sandboxId: id, error }));
      }
    },
  };
};

const toError = (id: string, cause: unknown): ApiError => {
  if (cause instanceof RuntimeLostError) return toLostError(cause);
  return new ApiError('internal', `the network of sandbox "${id}" could not be changed`, { cause });
};
