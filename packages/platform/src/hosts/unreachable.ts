import { RuntimeLostError } from '@skerry/runtime';

/** A node did not answer, or its connection ended during a call: what the call began may be done. */
export class NodeUnreachableError extends RuntimeLostError {
  readonly node: string;

  constructor(node: string, options?: { cause?: unknown }) {
    super(`node "${node}" cannot be reached`, options);
    this.name = 'NodeUnreachableError';
    this.node = node;
  }
}

/** Names the node in the error of a call that its loss interrupted. */
export const namingNode = async <T>(node: string, call: Promise<T>): Promise<T> => {
  try {
    return await call;
  } catch (error) {
    throw error instanceof RuntimeLostError && !(error instanceof NodeUnreachableError)
      ? new NodeUnreachableError(node, { cause: error })
      : error;
  }
};
