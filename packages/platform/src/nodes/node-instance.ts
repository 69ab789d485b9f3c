import type { Instance } from '@skerry/runtime';
import { NodeUnreachableError, namingNode } from './unreachable.ts';

/** Wraps an instance of a node. A stream rejects at once while `isUp` returns false: its packets would vanish. */
export const toNodeInstance = (node: string, inner: Instance, isUp: () => boolean): Instance => ({
  id: inner.id,
  get runId() {
    return inner.runId;
  },
  state: () => namingNode(node, inner.state()),
  connect: async (port, options) => {
    if (!isUp()) throw new NodeUnreachableError(node);
    return inner.connect(port, options);
  },
  control: async (options) => {
    if (!isUp()) throw new NodeUnreachableError(node);
    return inner.control(options);
  },
  pause: (options) => namingNode(node, inner.pause(options)),
  resume: (options) => namingNode(node, inner.resume(options)),
  snapshot: (options) => namingNode(node, inner.snapshot(options)),
  exportImage: (options) => namingNode(node, inner.exportImage(options)),
  usage: () => namingNode(node, inner.usage()),
  stop: () => namingNode(node, inner.stop()),
  onExit: (listener) => inner.onExit(listener),
});
