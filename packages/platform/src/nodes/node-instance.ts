import type { Instance } from '@skerry/runtime';
import { NodeUnreachableError, namingNode } from './unreachable.ts';

/** What differs for an instance of a node. */
interface OfNode extends Pick<Instance, 'exportImage'> {
  /** While it returns false a stream rejects at once: its packets would vanish. */
  isUp(): boolean;
  onStopped(): void;
}

/** Wraps an instance of a node. */
export const toNodeInstance = (
  node: string,
  inner: Instance,
  { isUp, exportImage, onStopped }: OfNode,
): Instance => ({
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
  exportImage,
  setNetwork: (policy) => namingNode(node, inner.setNetwork(policy)),
  usage: () => namingNode(node, inner.usage()),
  stop: async () => {
    await namingNode(node, inner.stop());
    onStopped();
  },
  onExit: (listener) => inner.onExit(listener),
});
