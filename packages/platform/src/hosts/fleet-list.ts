import { conflict, notFound } from '@skerry/contract/error';
import type { NodeLoad, NodeRow } from '../store/nodes/node-rows.ts';
import type { Store } from '../store/store.ts';
import type { Member } from './member.ts';
import type { Membership } from './membership/membership.ts';
import type { NodeList, NodeView } from './node-list.ts';
import { toStoragePlace } from './node-storage.ts';
import { noLoad, toOtherView, toRoom, toState } from './node-view.ts';
import type { OtherNodes, OwnedRow } from './other-nodes.ts';

export interface NodeListOptions {
  store: Store;
  membership: Membership;
  members: Map<string, Member>;
  /** Where there are other servers. */
  others: OtherNodes | undefined;
  owns(node: string): boolean;
  /** Called with a row that was read or written. */
  noteCordon(row: NodeRow): void;
  /** Called when a node is on no record any more. */
  onForget(name: string): void;
}

export const createNodeList = (options: NodeListOptions): NodeList => {
  const { store, membership, members, others, owns } = options;

  const viewOther = (one: OwnedRow): NodeView | undefined => {
    const { name } = one.row;
    if (owns(name) || !membership.nodes().some((node) => node.name === name)) return undefined;
    return toOtherView(one, membership.isCordoned(name));
  };

  const toView = (row: NodeRow, loads: readonly NodeLoad[]): NodeView => {
    const member = members.get(row.name);
    const { name: _name, ...load } = loads.find(({ name }) => name === row.name) ?? { name: '', ...noLoad };
    return {
      ...row,
      state: toState(row, member),
      problem: member?.problem,
      version: member?.description?.version,
      room: member?.description && toRoom(member),
      load,
      unschedulable: membership.isCordoned(row.name),
    };
  };

  const list = async (): Promise<NodeView[]> => {
    const loads = await store.measureNodes();
    const all = await (others?.read() ?? (await store.listNodes()).map((row) => ({ row, lease: undefined })));
    return all.map((one) => {
      const { load, ...own } = toView(one.row, loads);
      const { lease } = one;
      const owner = lease && { address: lease.address, leaseAgeMs: lease.ageMs };
      return { ...own, ...(others && viewOther(one)), load, owner };
    });
  };
  const requireView = async (name: string): Promise<NodeView> => {
    const view = (await list()).find((one) => one.name === name);
    if (view === undefined) throw unknownNode(name);
    return view;
  };

  return {
    list,
    setCordoned: async (name, isCordoned) => {
      const row = await store.setCordoned(name, isCordoned);
      if (row === undefined) throw unknownNode(name);
      options.noteCordon(row);
      return requireView(name);
    },
    forget: async (name, close) => {
      const member = members.get(name);
      if (member?.isUp) throw conflict(`node "${name}" answers: stop it before you forget it`);
      await requireView(name);
      // What is in the blob store too is not lost with the node.
      await store.detachNode(name);
      const { load } = await requireView(name);
      if (load.snapshots > 0)
        throw conflict(
          `node "${name}" has ${load.snapshots} snapshots that are nowhere else: delete their templates, and what the cache of builds has, first`,
        );
      await member?.close();
      members.delete(name);
      options.onForget(name);
      membership.forget(name);
      await close(name);
      const outcome = await store.forgetNode(name);
      if (outcome === 'in_use') throw conflict(`node "${name}" is still in use: try again`);
    },
    disks: () => [...members.values()].filter(({ isUp }) => isUp).flatMap(toStoragePlace),
  };
};

const unknownNode = (name: string) => notFound(`node "${name}" was not found`);
