import type { Instance } from '@skerry/runtime';
import type { Ids } from '../ids.ts';
import type { Limits } from '../limits.ts';
import type { Placement, Preference } from '../nodes/placement.ts';
import type { StartCommands } from '../store/build-rows.ts';
import type { NewSandbox, NodePlace, SandboxReservation } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { WarmSpec } from '../warm/warm-pool.ts';
import type { WarmPools } from '../warm/warm-pools.ts';

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

/** An origin in its place. */
export interface Placed extends Origin {
  /** A warm instance of the same spec, if there was one. */
  waiting: Instance | undefined;
}

/** A sandbox in a place, or why it has none. */
export interface Reserved {
  reserved: SandboxReservation;
  sandbox: NewSandbox;
  waiting: Instance | undefined;
}

/**
 * Reserves a place for a sandbox, which decides its id: that of a warm instance there, if there is one, which the sandbox gets. `onId` is
 * called with each id before a row of it may exist. Rejects as `Placement.reserve` does.
 */
export type Reserve = (
  wanted: Omit<NewSandbox, 'id'>,
  origin: Origin,
  onId: (id: string) => void,
) => Promise<Reserved>;

export const createReserve = ({
  store,
  placement,
  warm,
  ids,
  limits,
}: {
  store: Pick<Store, 'reserveSandbox'>;
  placement: Pick<Placement, 'reserve'>;
  warm: Pick<WarmPools, 'claim' | 'nodesWith' | 'giveBack'>;
  ids: Pick<Ids, 'sandboxId'>;
  limits: Pick<Limits, 'maxSandboxes'>;
}): Reserve => {
  /** Why some nodes are better than others for what begins so. */
  const toPreference = ({ mayBeWarm, spec, checkpointNode = null }: Origin): Preference | undefined => {
    if (checkpointNode !== null)
      return { nodes: () => [checkpointNode], because: 'the checkpoint of its template is there' };
    if (!mayBeWarm) return undefined;
    return { nodes: () => warm.nodesWith(spec), because: 'one like it was started there in advance' };
  };

  return async (wanted, origin, onId) => {
    const { memoryMb } = wanted;
    const { spec, node, staysHere, mayBeWarm } = origin;
    let chosen: Omit<Reserved, 'reserved'> | undefined;
    const attempt = async (place: NodePlace | undefined): Promise<SandboxReservation> => {
      const at = place?.node ?? null;
      const waiting = mayBeWarm ? warm.claim(spec, at) : undefined;
      const sandbox = { ...wanted, id: waiting?.id ?? ids.sandboxId() };
      let result: SandboxReservation | undefined;
      onId(sandbox.id);
      try {
        result = await store.reserveSandbox(sandbox, { maxActive: limits.maxSandboxes, place });
        chosen = { sandbox, waiting };
        return result;
      } finally {
        if (result !== 'reserved' && waiting !== undefined) warm.giveBack(spec, at, waiting);
      }
    };
    const reserved = await placement.reserve(
      { memoryMb, node, prefers: toPreference(origin), staysHere },
      attempt,
    );
    if (chosen === undefined) throw new Error('a place was reserved without a sandbox');
    return { reserved, ...chosen };
  };
};
