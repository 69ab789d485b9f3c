import type { ListedNode, Membership } from '../membership/membership.ts';

/** A membership that a test changes. */
export interface ManualMembership extends Membership {
  /** Adds the node, or moves it to that address. */
  put(node: ListedNode): void;
  setCordoned(name: string, isCordoned: boolean): void;
}

export const createManualMembership = (): ManualMembership => {
  const known = new Map<string, ListedNode>();
  const cordoned = new Set<string>();
  let notify = (): void => {};
  return {
    nodes: () => [...known.values()],
    isCordoned: (name) => cordoned.has(name),
    start: async ({ recorded, onChange }) => {
      for (const { name, address } of recorded) known.set(name, { name, address });
      notify = onChange;
    },
    forget: (name) => void known.delete(name),
    close: async () => {},
    put: (node) => {
      known.set(node.name, node);
      notify();
    },
    setCordoned: (name, isCordoned) => {
      if (isCordoned) cordoned.add(name);
      else cordoned.delete(name);
    },
  };
};
