import { type Runtime, RuntimeError } from '@skerry/runtime';
import type { Copies, NodeSnapshots } from '../copies.ts';

/** A blob store of this process, which a test makes fail. */
export interface CopiesInMemory {
  /** The snapshots in it. */
  readonly ids: ReadonlySet<string>;
  /** While set, calls reject with it. */
  problem: Error | undefined;
  /** While set, calls that store wait for it. */
  held: Promise<void> | undefined;
  /** The kernels of nodes that have another one. */
  readonly kernels: Map<string, string>;
  of(node: string, runtime: Runtime): NodeSnapshots;
  remove: Copies['remove'];
}

export const createCopiesInMemory = (): CopiesInMemory => {
  const madeOn = new Map<string, string>();
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
      store: async ({ snapshot }, { signal } = {}) => {
        await copies.held;
        check();
        if (signal?.aborted) throw new RuntimeError('unavailable', 'aborted');
        madeOn.set(snapshot, kernelOf(node));
        return { manifestSha256: 'm', sizeBytes: 7 };
      },
      fetch: async ({ snapshot: id, rootfs }) => {
        check();
        const kernel = madeOn.get(id);
        if (kernel === undefined) throw new RuntimeError('not_found', `no copy ${id}`);
        if (kernel !== kernelOf(node))
          throw new RuntimeError('unsupported', `the kernel was ${kernel} and is ${kernelOf(node)} here`);
        const limits = { cpuCount: 1, memoryBytes: 2 ** 27, diskBytes: 2 ** 20, processCount: 10 };
        const spec = { id: 'seed', hostname: 'seed', limits, network: { internet: false }, rootfs };
        const seed = await runtime.create(spec);
        await seed.snapshot({ id, memory: true });
        await seed.stop();
      },
    }),
    remove: async (id) => {
      check();
      madeOn.delete(id);
    },
  };
  return copies;
};
