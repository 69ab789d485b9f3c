import { notFound } from '@skerry/contract/error';
import type { Instance } from '@skerry/runtime';
import type { Clock } from '../../clock.ts';
import type { Host, Hosts, Preference } from '../../hosts/hosts.ts';
import type { Ids } from '../../ids.ts';
import type { Limits } from '../../limits.ts';
import type { StartCommands } from '../../store/build-rows.ts';
import type { NewSandbox } from '../../store/rows.ts';
import type { Store } from '../../store/store.ts';
import type { WarmSpec } from '../../warm/warm-pool.ts';
import type { WarmPools } from '../../warm/warm-pools.ts';
import { limitReached, quotaExceeded } from '../refused-reservation.ts';

/** How a sandbox begins. */
export interface Beginning {
  spec: WarmSpec;
  /** Started before the agent gets the variables of the sandbox. */
  commands: StartCommands | null;
}

export interface Origin extends Beginning {
  /** Whether a warm instance of the same spec may be used. */
  mayBeWarm: boolean;
  /** Instead of a checkpoint of a build that cannot be restored. */
  otherwise?: Beginning;
  /** The only node that has what it begins with; null: any. */
  node: string | null;
  /** The node of the checkpoint; null: it is on this host, or there is none. */
  checkpointNode?: string | null;
  /** Ends the wait for the start command. */
  signal?: AbortSignal | undefined;
  /** Whether it must be on a node of this server. */
  staysHere: boolean;
}

/** A sandbox that has a place on a host. */
export interface Reserved {
  host: Host;
  sandbox: NewSandbox;
  /** A warm instance of the same spec, if there was one. */
  waiting: Instance | undefined;
}

/**
 * Reserves a place for a sandbox, which decides its id: that of a warm instance there, if there is one, which the sandbox gets. `onId` is
 * called with each id before a row of it may exist. Rejects as `Hosts.reserve` does, with `resource_exhausted` at the concurrency limit or a limit of
 * the key, with `permission_denied` for what that limit never allows, and with `not_found` when what it begins with was deleted.
 */
export type Reserve = (
  wanted: Omit<NewSandbox, 'id'>,
  origin: Origin,
  onId: (id: string) => void,
) => Promise<Reserved>;

export interface ReserveOptions {
  store: Pick<Store, 'reserveSandbox' | 'findNextEnd'>;
  hosts: Pick<Hosts, 'reserve'>;
  warm: Pick<WarmPools, 'claim' | 'nodesWith' | 'giveBack'>;
  ids: Pick<Ids, 'sandboxId'>;
  clock: Pick<Clock, 'now'>;
  limits: Pick<Limits, 'maxSandboxes'>;
}

export const createReserve = (options: ReserveOptions): Reserve => {
  const { store, hosts, warm, ids, limits } = options;

  /** Why some nodes are better than others for what begins so. */
  const toPreference = ({ mayBeWarm, spec, checkpointNode = null }: Origin): Preference | undefined => {
    if (checkpointNode !== null)
      return { nodes: () => [checkpointNode], because: 'the checkpoint of its template is there' };
    if (!mayBeWarm) return undefined;
    return { nodes: () => warm.nodesWith(spec), because: 'one like it was started there in advance' };
  };

  return async (wanted, origin, onId) => {
    const { memoryMb, isolation } = wanted;
    const { spec, node, staysHere, mayBeWarm } = origin;
    const attempt = async (host: Host): Promise<Reserved | 'node_full'> => {
      const waiting = mayBeWarm ? warm.claim(spec, host.node) : undefined;
      const sandbox = { ...wanted, id: waiting?.id ?? ids.sandboxId() };
      onId(sandbox.id);
      const giveBack = (): void => {
        if (waiting !== undefined) warm.giveBack(spec, host.node, waiting);
      };
      const limit = { maxActive: limits.maxSandboxes, place: host.room() };
      const result = await store.reserveSandbox(sandbox, limit).catch((error: unknown) => {
        giveBack();
        throw error;
      });
      if (result === 'reserved') return { host, sandbox, waiting };
      giveBack();
      if (result === 'node_full') return result;
      if (result === 'limit') throw await limitReached(options, wanted.project);
      throw typeof result === 'object' ? quotaExceeded(result, options.clock) : toGoneError(result, wanted);
    };
    return hosts.reserve({ memoryMb, isolation, node, prefers: toPreference(origin), staysHere }, attempt);
  };
};

/** The error for a template or snapshot that was deleted since the lookup. */
const toGoneError = (
  reserved: 'no_snapshot' | 'no_image',
  { templateId }: Pick<NewSandbox, 'templateId'>,
): Error => {
  const what = reserved === 'no_image' ? 'image' : 'snapshot';
  return notFound(`the ${what} of template "${templateId}" is gone`);
};
