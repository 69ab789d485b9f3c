import { ApiError, invalid, isUnavailable } from '@skerry/contract/error';
import { type Instance, isRuntimeError } from '@skerry/runtime';
import type { Copies } from '../hosts/copies.ts';
import { findInstance, findInstanceOn } from '../hosts/find-instance.ts';
import type { Host, Hosts } from '../hosts/hosts.ts';
import { NodeUnreachableError } from '../hosts/unreachable.ts';
import type { Limits } from '../limits.ts';
import { toMemoryExtraMs } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Relocation, Relocator } from '../sandboxes/relocator.ts';
import type { Snapshotter } from '../sandboxes/snapshotter.ts';
import type { BlobCopyRow } from '../store/blob-copies/copy-rows.ts';
import type { SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { WarmSpec } from '../warm/warm-pool.ts';
import type { Copier } from './copier.ts';

export interface RelocatorOptions {
  store: Store;
  hosts: Pick<Hosts, 'of' | 'reserve' | 'canReach' | 'isCordoned'>;
  copies: Copies;
  copier: Pick<Copier, 'find'>;
  snapshotter: Pick<Snapshotter, 'bringCopy'>;
  rootfsOf: (row: { buildId: string | null }) => Promise<string>;
  toSpec: (row: SandboxRow, snapshotId: string) => WarmSpec;
  limits: Pick<Limits, 'startTimeoutMs'>;
  log: Log;
}

/** A node that could not resume it, and why. */
interface Refusal {
  node: string;
  reason: string;
}

/** A slow disk or link: 20 MiB a second. */
const SLOW_BYTES_PER_MS = 20_971;

export const createRelocator = (options: RelocatorOptions): Relocator => {
  const { store, hosts, copies, copier, snapshotter, rootfsOf, toSpec, limits, log } = options;

  /** Makes the instance on a host. */
  const begin = async (row: SandboxRow, copy: BlobCopyRow, host: Host): Promise<Instance> => {
    const node = host.node ?? '';
    const rootfs = await rootfsOf(row);
    // An earlier attempt may have left one there.
    await (await findInstanceOn(host, row.id))?.stop();
    return snapshotter.bringCopy(
      { row, node },
      (snapshot) => {
        const signal = AbortSignal.timeout(
          limits.startTimeoutMs + Math.ceil(copy.sizeBytes / SLOW_BYTES_PER_MS),
        );
        return copies.fetch(node, copy, { snapshot, rootfs }, { signal });
      },
      (snapshot) => {
        // Start the timeout only now that the files are on the node.
        const signal = AbortSignal.timeout(limits.startTimeoutMs + toMemoryExtraMs(row.memoryMb));
        return host.runtime.create({ id: row.id, hostname: row.id, ...toSpec(row, snapshot) }, { signal });
      },
    );
  };

  /** Reserves a place on the next host, of this server if it has one. */
  const reserveNext = async (
    row: SandboxRow,
    refusals: readonly Refusal[],
    how: Relocation,
  ): Promise<Host> => {
    const refusing = refusals.map(({ node }) => node);
    const find = async (staysHere: boolean): Promise<Host> => {
      const { memoryMb, isolation } = row;
      const need = { memoryMb, isolation, node: null, refusing, staysHere };
      const { host, reserved } = await hosts.reserve(need, async (on) => {
        const outcome = await how.reserve(on);
        return outcome === 'node_full' ? outcome : { host: on, reserved: outcome };
      });
      if (reserved !== 'reserved') throw await how.onRefused(reserved);
      return host;
    };
    try {
      return await find(true).catch((error: unknown) => {
        if (how.isForwarded || !isUnavailable(error)) throw error;
        // Try a node of another server: the rejection then names that server.
        return find(false);
      });
    } catch (error) {
      throw explain(row, refusals, error);
    }
  };

  /** Resolves with the reason when the host cannot resume the sandbox, and another one may. */
  const resumeOn = async (
    host: Host,
    row: SandboxRow,
    copy: BlobCopyRow,
    how: Relocation,
  ): Promise<SandboxRow | Error> => {
    const placed = { ...row, node: host.node };
    let failure: unknown;
    try {
      return await how.start(placed, () =>
        begin(placed, copy, host).catch((error: unknown) => {
          failure = error;
          throw error;
        }),
      );
    } catch (error) {
      if (mayFitElsewhere(failure)) return failure;
      throw error;
    }
  };

  return {
    find: copier.find,
    needs: async (row) => {
      const isHere = hosts.canReach(row.node) && row.node !== null && !hosts.isCordoned(row.node);
      if (isHere && (await findInstance(hosts, row)) !== undefined) return undefined;
      const copy = await copier.find(row);
      if (copy === undefined && row.node === null)
        throw new ApiError(
          'unavailable',
          `sandbox "${row.id}" is on no node, and the blob store has no whole copy of it`,
        );
      return copy;
    },
    resume: async (row, copy, how) => {
      if (!how.memory && row.pausedWith === 'memory')
        throw invalid('body.memory: on another node this sandbox can only be resumed with its memory');
      const refusals: Refusal[] = [];
      for (;;) {
        const host = await reserveNext(row, refusals, how);
        const node = host.node ?? '';
        const result = await resumeOn(host, row, copy, how);
        if (!(result instanceof Error)) return result;
        log.warn('a node cannot resume a sandbox from the blob store', {
          sandboxId: row.id,
          node,
          error: result,
        });
        // What is where it was paused stays that of the sandbox.
        await store.changeState(row.id, { from: ['paused'], to: 'paused', set: { node: row.node } });
        refusals.push({ node, reason: result.message });
      }
    },
  };
};

const mayFitElsewhere = (error: unknown): error is Error =>
  error instanceof NodeUnreachableError ||
  isRuntimeError(error, 'unsupported') ||
  isRuntimeError(error, 'exhausted');

/** 503, which names the node that has the files as well. */
const explain = (row: SandboxRow, refusals: readonly Refusal[], error: unknown): unknown => {
  if (!isUnavailable(error)) return error;
  const where = row.node === null ? 'in the blob store only' : `on node "${row.node}" and in the blob store`;
  const reasons = refusals.map(({ node, reason }) => `${node}: ${reason}`);
  const why = [...reasons, ...(error instanceof ApiError ? [error.message] : [])].join('; ');
  return new ApiError(
    'unavailable',
    `sandbox "${row.id}" is paused ${where}, and cannot be resumed now: ${why}`,
    { reason: 'sandbox_capacity_unavailable', cause: error },
  );
};
