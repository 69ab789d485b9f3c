/** A node of a server. */
export interface ListedNode {
  /** The name in the node's certificate. */
  name: string;
  /** `host:port` */
  address: string;
}

/**
 * The nodes, and their addresses. Whether a node answers is not asked here: the connection to it shows that,
 * and its certificate shows that it is the node of that name.
 */
export interface Membership {
  /** The nodes, by name. None leaves because it does not answer, or because what lists the nodes does not. */
  nodes(): readonly ListedNode[];
  /** Whether the cluster has ordered that nothing new is placed on that node. `skerry node cordon` is another order. */
  isCordoned(name: string): boolean;
  /**
   * Begins with the nodes that earlier servers have recorded, and watches from then on. Calls `onChange` after each change of the nodes.
   * Resolves when they are known, or cannot be found out now. Rejects with `MembershipError` when this server may not find them out.
   */
  start(options: { recorded: readonly ListedNode[]; onChange(): void }): Promise<void>;
  /** Removes a node until the cluster names it again. */
  forget(name: string): void;
  close(): Promise<void>;
}

/** The nodes cannot be found out until the operator changes something, which the message names. */
export class MembershipError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'MembershipError';
  }
}
