import { ApiError, invalid } from '@skerry/contract/error';
import { type Instance, isRuntimeError, type Runtime } from '@skerry/runtime';
import type { Limits } from '../limits.ts';
import { toMemoryExtraMs } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Copies } from '../nodes/copies.ts';
import type { Placement } from '../nodes/placement.ts';
import { NodeUnreachableError } from '../nodes/unreachable.ts';
import { findInstance } from '../sandboxes/find-instance.ts';
import type { Snapshotting } from '../sandboxes/snapshotting.ts';
import type { NodePlace, ResumeReservation, SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { StoredRow } from '../store/stored/stored-rows.ts';
import type { WarmSpec } from '../warm/warm-pool.ts';
import type { Storing } from './storing.ts';

/** Resumes paused sandboxes on other nodes, from the blob store. */
export interface Relocating {
  /**
   * The copy to resume a sandbox from on another node: where its node does not answer, is cordoned or lacks its files. Undefined when
   * it can or must resume where it is.
   */
  needs(row: SandboxRow): Promise<StoredRow | undefined>;
  /** The copy from which it can be resumed elsewhere. */
  find: Storing['find'];
  /**
   * Reserves a place on a node of this server, and begins a run of the sandbox there by `start`, which gets what makes the instance. Goes on
   * with the next node when one cannot use the copy or has no room. When none can, rejects with `ElsewhereError` for a server that has one,
   * unless the call has come from another server, and otherwise with `unavailable` and the reason of each.
   */
  resume(
    row: SandboxRow,
    copy: StoredRow,
    how: {
      memory: boolean;
      isForwarded: boolean;
      reserve: (place: NodePlace) => Promise<ResumeReservation>;
      onRefused: (reserved: Exclude<ResumeReservation, 'reserved' | 'node_full'>) => Promise<Error> | Error;
      start: (row: SandboxRow, begin: () => Promise<Instance>) => Promise<SandboxRow>;
    },
  ): Promise<SandboxRow>;
}

export interface RelocatingOptions {
  store: Store;
  runtime: Runtime;
  copies: Copies;
  storing: Pick<Storing, 'find'>;
  snapshotting: Pick<Snapshotting, 'bringCopy'>;
  placement: Pick<Placement, 'reserve'>;
  /** Whether a node answers, and takes what is new. */
  canReach: (node: string | null) => boolean;
  isCordoned: (node: string | null) => boolean;
  rootfsOf: (row: { buildId: string | null }) => Promise<string>;
  toSpec: (row: SandboxRow, snapshotId: string) => WarmSpec;
  limits: Pick<Limits, 'startTimeoutMs'>;
  log: Log;
}

/** A slow disk or link: 20 MiB a second. */
const SLOW_BYTES_PER_MS = 20_971;

export const createRelocating = (options: RelocatingOptions): Relocating => {
  const {
    store,
    runtime,
    copies,
    storing,
    snapshotting,
    placement,
    canReach,
    isCordoned,
    rootfsOf,
    toSpec,
    limits,
    log,
  } = options;

  /** Makes the instance on the node of the row. */
  const begin = async (row: SandboxRow, copy: StoredRow): Promise<Instance> => {
    const node = row.node ?? '';
    const rootfs = await rootfsOf(row);
    // An earlier attempt may have left one there.
    await (await findInstance(runtime, row.id))?.stop();
    return snapshotting.bringCopy(
      { row, node },
      (snapshot) => {
        const signal = AbortSignal.timeout(
          limits.startTimeoutMs + Math.ceil(copy.sizeBytes / SLOW_BYTES_PER_MS),
        );
        return copies.fetch(node, copy, { snapshot, rootfs }, { signal });
      },
      (snapshot) => {
        // Its time begins when the files are there.
        const signal = AbortSignal.timeout(limits.startTimeoutMs + toMemoryExtraMs(row.memoryMb));
        return runtime.create({ id: row.id, hostname: row.id, ...toSpec(row, snapshot) }, { signal });
      },
    );
  };

  return {
    find: storing.find,
    needs: async (row) => {
      const isHere = canReach(row.node) && row.node !== null && !isCordoned(row.node);
      if (isHere && (await findInstance(runtime, row.id)) !== undefined) return undefined;
      return storing.find(row);
    },
    resume: async (row, copy, { memory, isForwarded, reserve, onRefused, start }) => {
      if (!memory && row.pausedWith === 'memory')
        throw invalid('body.memory: on another node this sandbox can only be resumed with its memory');
      const refusing: string[] = [];
      const refusals: string[] = [];
      const { memoryMb } = row;
      for (;;) {
        let place: NodePlace | undefined;
        const find = (staysHere: boolean): Promise<ResumeReservation> =>
          placement.reserve({ memoryMb, node: null, refusing, staysHere }, async (found) => {
            place = found;
            return found === undefined ? 'node_full' : reserve(found);
          });
        const reserved = await find(true)
          .catch((error: unknown) => {
            if (isForwarded || !isUnavailable(error)) throw error;
            // Of another server, which the rejection names.
            return find(false);
          })
          .catch((error: unknown) => {
            throw explain(row, refusals, error);
          });
        if (place === undefined || reserved === 'node_full') throw explain(row, refusals, undefined);
        if (reserved !== 'reserved') throw await onRefused(reserved);
        const { node } = place;
        let refusal: unknown;
        try {
          return await start({ ...row, node }, async () => {
            try {
              return await begin({ ...row, node }, copy);
            } catch (error) {
              refusal = error;
              throw error;
            }
          });
        } catch (error) {
          if (!mayFitElsewhere(refusal)) throw error;
          log.warn('a node cannot resume a sandbox from the blob store', {
            sandboxId: row.id,
            node,
            error: refusal,
          });
          // What is where it was paused stays that of the sandbox.
          await store.changeState(row.id, { from: ['paused'], to: 'paused', set: { node: row.node } });
          refusing.push(node);
          refusals.push(`${node}: ${refusal.message}`);
        }
      }
    },
  };
};

const mayFitElsewhere = (error: unknown): error is Error =>
  error instanceof NodeUnreachableError ||
  isRuntimeError(error, 'unsupported') ||
  isRuntimeError(error, 'exhausted');

const isUnavailable = (error: unknown): boolean => error instanceof ApiError && error.code === 'unavailable';

/** 503, which names the node that has the files as well. */
const explain = (row: SandboxRow, refusals: readonly string[], error: unknown): unknown => {
  if (error !== undefined && !isUnavailable(error)) return error;
  const where = row.node === null ? 'in the blob store only' : `on node "${row.node}" and in the blob store`;
  const why = [...refusals, ...(error instanceof ApiError ? [error.message] : [])].join('; ');
  return new ApiError(
    'unavailable',
    `sandbox "${row.id}" is paused ${where}, and cannot be resumed now: ${why}`,
    { reason: 'sandbox_capacity_unavailable', cause: error },
  );
};
