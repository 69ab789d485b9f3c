import { ApiError } from '@skerry/contract/error';
import type { IsolationLevel } from '@skerry/contract/isolation';
import type { Features } from '@skerry/runtime';
import type { LeaseHolder, LeaseRow } from '../store/leases/lease-rows.ts';
import type { NodeRow } from '../store/nodes/node-rows.ts';
import type { Store } from '../store/store.ts';
import type { NodeImages } from './fleet-images.ts';
import type { OpenDoor } from './other-servers.ts';
import { builderLease } from './ownership.ts';
import type { Candidate } from './placement/rank-places.ts';

/** A candidate for a sandbox, and the address of its server. */
export type OtherCandidate = Candidate & { server: string };

/** One of several servers of a database, and how it uses nodes of which it is not the owner. */
export interface Replica extends LeaseHolder {
  openDoor(node: { name: string; address: string }, ...run: Parameters<OpenDoor>): ReturnType<OpenDoor>;
  imagesAt(node: { name: string; address: string }): Pick<NodeImages, 'read'>;
}

/** A node and the server that has its lease. */
export interface OwnedRow {
  row: NodeRow;
  /** Undefined when it has expired. */
  lease: LeaseRow | undefined;
}

/** What the database says of the nodes of all servers. */
export interface OtherNodes {
  read(): Promise<OwnedRow[]>;
  /** Returns the nodes that were read, as candidates for a sandbox with the address of their server. */
  toCandidates(nodes: readonly OwnedRow[], level: IsolationLevel): OtherCandidate[];
  /** False for a node that does not answer its server, as that has recorded. */
  mayAnswer(node: string): Promise<boolean>;
  /** The features of the nodes that were read last. */
  features(): Features[];
  /**
   * The address of the server that owns a node; undefined: it is this one. Rejects with `unavailable` when no server has the lease, or the one that
   * has it cannot be found.
   */
  serverOf(node: string): Promise<string | undefined>;
  /**
   * The address of the server that builds templates; undefined: it is this one. Rejects as `serverOf` does.
   */
  builder(): Promise<string | undefined>;
}

export const createOtherNodes = (
  store: Store,
  {
    owner,
    owns,
    isCordoned,
  }: {
    owner: string;
    owns(node: string): boolean;
    /** Whether the cluster has ordered to place nothing on that node. */
    isCordoned(node: string): boolean;
  },
): OtherNodes => {
  let last: OwnedRow[] = [];
  const isOther = ({ row }: OwnedRow): boolean => !owns(row.name);

  const read = async (): Promise<OwnedRow[]> => {
    const leases = new Map((await store.listLeases()).map((lease) => [lease.name, lease]));
    last = (await store.listNodes()).map((row) => ({ row, lease: leases.get(row.name) }));
    return last;
  };
  const locate = async (lease: string): Promise<string | undefined> => {
    const found = (await store.listLeases()).find(({ name }) => name === lease);
    if (found === undefined) throw noServer(lease);
    return found.owner === owner ? undefined : found.address;
  };

  return {
    read,
    toCandidates: (nodes, level) =>
      nodes.filter(isOther).map(({ row, lease }): OtherCandidate => {
        const { status } = row;
        const room = status?.room ?? { sandboxes: 0, memoryMb: 0 };
        const usedMemoryMb = status?.usedMemoryMb ?? 0;
        const candidate = { name: row.name, room, usedMemoryMb, server: lease?.address ?? '' };
        if (lease === undefined || status === null) return { ...candidate, obstacle: 'has no server now' };
        if (row.cordoned) return { ...candidate, obstacle: 'is cordoned' };
        if (isCordoned(row.name)) return { ...candidate, obstacle: 'is cordoned by the cluster' };
        if (status.features !== undefined && status.features.levels[level] === undefined)
          return { ...candidate, obstacle: `has no isolation level ${level}` };
        if (status.state === 'ready') return { ...candidate, obstacle: undefined };
        const obstacle = status.state === 'settling' ? 'has just come back' : 'cannot be reached';
        return { ...candidate, obstacle };
      }),
    mayAnswer: async (node) => {
      const found = (await read()).find(({ row }) => row.name === node);
      return found !== undefined && (found.lease === undefined || found.row.status?.state !== 'unreachable');
    },
    features: () => last.filter(isOther).flatMap(({ row }) => row.status?.features ?? []),
    serverOf: async (node) => (owns(node) ? undefined : locate(node)),
    builder: () => locate(builderLease),
  };
};

/** The images on these nodes, as this server reads them. */
export const toImageSources = (
  nodes: readonly { name: string; address: string }[],
  { imagesAt }: Pick<Replica, 'imagesAt'>,
) => nodes.map((node) => ({ name: node.name, images: imagesAt(node) }));

const noServer = (lease: string): ApiError =>
  new ApiError(
    'unavailable',
    lease === builderLease
      ? 'no server builds templates now: try again in a moment'
      : `no server has taken over node "${lease}" yet: try again in a moment`,
    { headers: { 'Retry-After': '1' } },
  );
