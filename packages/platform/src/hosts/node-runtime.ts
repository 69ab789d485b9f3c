import type { Instance, Runtime } from '@skerry/runtime';
import { NodeUnreachableError, namingNode } from './unreachable.ts';

/** The runtime of a node: its loss interrupts calls as `NodeUnreachableError`. */
export const toNodeRuntime = (
  node: string,
  inner: Runtime,
  {
    isUp,
    onRefused,
  }: {
    /** While it returns false, calls reject at once, and so do streams, whose packets would vanish. */
    isUp(): boolean;
    /** Called with the path of an image with which a create has failed. */
    onRefused(rootfs: string): void;
  },
): Runtime => {
  const call = async <T>(act: () => Promise<T>): Promise<T> => {
    if (!isUp()) throw new NodeUnreachableError(node);
    return namingNode(node, act());
  };
  const wrap = (instance: Instance): Instance => toNodeInstance(node, instance, isUp);
  const { snapshots } = inner;
  return {
    name: inner.name,
    features: inner.features,
    create: async (spec, options) => {
      try {
        return wrap(await call(() => inner.create(spec, options)));
      } catch (error) {
        if ('rootfs' in spec) onRefused(spec.rootfs);
        throw error;
      }
    },
    get: async (id) => wrap(await call(() => inner.get(id))),
    list: async function* () {
      for await (const instance of inner.list()) yield wrap(instance);
    },
    snapshots: {
      list: () => snapshots.list(),
      diff: (from, to, options) => snapshots.diff(from, to, options),
      verify: (id) => call(() => snapshots.verify(id)),
      exportImage: (id, how) => call(() => snapshots.exportImage(id, how)),
      delete: (id) => call(() => snapshots.delete(id)),
    },
    close: async () => {},
  };
};

const toNodeInstance = (node: string, inner: Instance, isUp: () => boolean): Instance => {
  const requireUp = (): void => {
    if (!isUp()) throw new NodeUnreachableError(node);
  };
  const acts: Partial<Instance> = {
    state: () => namingNode(node, inner.state()),
    connect: async (port, options) => {
      requireUp();
      return inner.connect(port, options);
    },
    control: async (options) => {
      requireUp();
      return inner.control(options);
    },
    pause: (options) => namingNode(node, inner.pause(options)),
    resume: (options) => namingNode(node, inner.resume(options)),
    snapshot: (options) => namingNode(node, inner.snapshot(options)),
    exportImage: (options) => namingNode(node, inner.exportImage(options)),
    setNetwork: (policy) => namingNode(node, inner.setNetwork(policy)),
    usage: () => namingNode(node, inner.usage()),
    stop: () => namingNode(node, inner.stop()),
  };
  // The rest, with the run id that changes, is that of the instance itself.
  return Object.assign(Object.create(inner) as Instance, acts);
};
