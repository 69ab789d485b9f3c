import { type Features, type Instance, type Runtime, RuntimeError, type TreeOrigin } from '@skerry/runtime';
import type { Log } from '../log.ts';
import { toNodeInstance } from './node-instance.ts';
import { NodeUnreachableError, namingNode } from './unreachable.ts';

/** The image of the base template, whose path each node knows. */
export const baseOfNode = 'node:base';

/** A node that answers now. */
export interface ReachableNode {
  name: string;
  runtime: Runtime;
  baseRootfs: string;
}

export interface FleetOptions {
  /** The nodes that answer now. */
  reachable(): ReachableNode[];
  /** The node of a sandbox or of a snapshot; undefined when there is no record of it, or it is on no node. */
  locateSandbox(id: string): Promise<string | undefined>;
  locateSnapshot(id: string): Promise<string | undefined>;
  features: Features;
  log: Log;
}

/**
 * The sandboxes of all nodes as those of one runtime. Each is on the node that its record names, which is written before it is made.
 * Calls for what is on a node that does not answer reject with `NodeUnreachableError`; lists leave it out.
 */
export const createFleetRuntime = ({
  reachable,
  locateSandbox,
  locateSnapshot,
  features,
  log,
}: FleetOptions): Runtime => {
  /** Of snapshots that a list has found: those without a record are removed by that. */
  const listed = new Map<string, string>();

  const wrap = (name: string, instance: Instance): Instance =>
    toNodeInstance(name, instance, () => reachable().some((node) => node.name === name));

  const requireNode = (name: string | undefined, what: string): ReachableNode => {
    if (name === undefined) throw new RuntimeError('not_found', `${what} is on no node`);
    const node = reachable().find((one) => one.name === name);
    if (node === undefined) throw new NodeUnreachableError(name);
    return node;
  };
  const ofSandbox = async (id: string) => requireNode(await locateSandbox(id), `sandbox ${id}`);
  const ofSnapshot = async (id: string) => requireNode(await locateSnapshot(id), `snapshot ${id}`);

  const toOrigin = <O extends TreeOrigin>(origin: O, { baseRootfs }: ReachableNode): O => {
    if (!('rootfs' in origin)) return origin;
    if (origin.rootfs !== baseOfNode)
      throw new RuntimeError('unsupported', 'nodes have no image but that of the base template');
    return { ...origin, rootfs: baseRootfs };
  };

  async function* each<T>(
    open: (node: ReachableNode) => AsyncIterable<T>,
  ): AsyncGenerator<[ReachableNode, T]> {
    for (const node of reachable()) {
      try {
        for await (const item of open(node)) yield [node, item];
      } catch (error) {
        // What is on it is left as it is until it answers again.
        log.warn('a node could not list what it has', { node: node.name, error });
      }
    }
  }

  const ofOrigin = (origin: TreeOrigin): Promise<ReachableNode | undefined> => {
    if ('rootfs' in origin) return Promise.resolve(undefined);
    return 'snapshot' in origin ? ofSnapshot(origin.snapshot) : ofSandbox(origin.instance);
  };

  return {
    name: 'nodes',
    features,
    create: async (spec, options) => {
      const node = await ofSandbox(spec.id);
      return wrap(node.name, await namingNode(node.name, node.runtime.create(toOrigin(spec, node), options)));
    },
    get: async (id) => {
      const node = await ofSandbox(id);
      return wrap(node.name, await namingNode(node.name, node.runtime.get(id)));
    },
    list: async function* (): AsyncGenerator<Instance> {
      for await (const [{ name }, instance] of each(({ runtime }) => runtime.list()))
        yield wrap(name, instance);
    },
    snapshots: {
      list: async function* () {
        listed.clear();
        for await (const [{ name }, snapshot] of each(({ runtime }) => runtime.snapshots.list())) {
          listed.set(snapshot.id, name);
          yield snapshot;
        }
      },
      verify: async (id) => {
        const { name, runtime } = await ofSnapshot(id);
        return namingNode(name, runtime.snapshots.verify(id));
      },
      diff: async function* (from, to, options) {
        const [first, second] = [await ofOrigin(from), await ofOrigin(to)];
        const node = first ?? second;
        if (node === undefined) throw new RuntimeError('unsupported', 'the two are the same image');
        if (second !== undefined && second.name !== node.name)
          throw new RuntimeError(
            'unsupported',
            `the two are on different nodes, ${node.name} and ${second.name}`,
          );
        yield* node.runtime.snapshots.diff(toOrigin(from, node), toOrigin(to, node), options);
      },
      exportImage: () => Promise.reject(new RuntimeError('unsupported', 'nodes export no images')),
      delete: async (id) => {
        const { name, runtime } = requireNode((await locateSnapshot(id)) ?? listed.get(id), `snapshot ${id}`);
        await namingNode(name, runtime.snapshots.delete(id));
      },
    },
    close: async () => {},
  };
};
