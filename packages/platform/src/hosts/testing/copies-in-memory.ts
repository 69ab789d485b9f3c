import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type Runtime, RuntimeError } from '@skerry/runtime';
import { CLOSED_NETWORK } from '@skerry/runtime/network';
import type { CopyStore, NodeSnapshots } from '../copies.ts';

/** A blob store of this process, which a test makes fail. */
export interface CopiesInMemory {
  /** The copies of snapshots in it. */
  readonly ids: ReadonlySet<string>;
  /** While set, calls reject with it. */
  problem: Error | undefined;
  /** While set, calls that store wait for it. */
  held: Promise<void> | undefined;
  /** The kernels of nodes that have another one. */
  readonly kernels: Map<string, string>;
  of(node: string, runtime: Runtime): NodeSnapshots;
  readonly blobs: CopyStore;
}

export const createCopiesInMemory = (): CopiesInMemory => {
  const madeOn = new Map<string, string>();
  const images = new Map<string, Buffer>();
  const kernelOf = (node: string): string => copies.kernels.get(node) ?? '6.1';
  const check = (): void => {
    if (copies.problem) throw copies.problem;
  };
  const copies: CopiesInMemory = {
    get ids() {
      return new Set(madeOn.keys());
    },
    problem: undefined,
    held: undefined,
    kernels: new Map(),
    of: (node, runtime) => ({
      store: async ({ copy }, { signal } = {}) => {
        await copies.held;
        check();
        if (signal?.aborted) throw new RuntimeError('unavailable', 'aborted');
        madeOn.set(copy, kernelOf(node));
        return { manifestSha256: 'm', sizeBytes: 7 };
      },
      fetch: async ({ snapshot: id, copy, rootfs }) => {
        check();
        const kernel = madeOn.get(copy);
        if (kernel === undefined) throw new RuntimeError('not_found', `no copy ${copy}`);
        if (kernel !== kernelOf(node))
          throw new RuntimeError('unsupported', `the kernel was ${kernel} and is ${kernelOf(node)} here`);
        const limits = { cpuCount: 1, memoryBytes: 2 ** 27, diskBytes: 2 ** 20, processCount: 10 };
        const spec = { id: 'seed', hostname: 'seed', limits, network: CLOSED_NETWORK, rootfs };
        const seed = await runtime.create(spec);
        await seed.snapshot({ id, memory: true });
        await seed.stop();
      },
    }),
    blobs: {
      remove: async (id) => {
        check();
        madeOn.delete(id);
        images.delete(id);
      },
      listIds: async function* () {
        check();
        yield* [...madeOn.keys(), ...images.keys()];
      },
      writeImage: async (id, { body }) => {
        check();
        const bytes = await buffer(body);
        images.set(id, bytes);
        return { sizeBytes: bytes.length };
      },
      readImage: async (id) => {
        check();
        return Readable.from([images.get(id) ?? Buffer.of()]);
      },
    },
  };
  return copies;
};
