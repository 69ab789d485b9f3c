import { createTurns } from '@skerry/contract/turns';
import { namingNode } from './unreachable.ts';

/** Each answer takes processor time of this process, which other calls wait for. */
const NODES_AT_A_TIME = 16;

/**
 * Asks nodes, a few at a time. Resolves with their answers, in the order of the nodes. Rejects with the first failure, once none is
 * being asked any more; the loss of a node is a `NodeUnreachableError`.
 */
export const askNodes = async <Node extends { name: string }, T>(
  nodes: readonly Node[],
  ask: (node: Node) => Promise<T>,
): Promise<T[]> => {
  const turns = createTurns(NODES_AT_A_TIME);
  const asked = nodes.map((node) => turns.take(() => namingNode(node.name, ask(node))));
  await Promise.allSettled(asked);
  return Promise.all(asked);
};
