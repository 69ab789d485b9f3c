import { ApiError } from '@skerry/contract/error';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { createTurns } from '@skerry/contract/turns';
import type { NodeRow } from '../../store/nodes/node-rows.ts';
import type { NodePlace } from '../../store/rows.ts';
import type { Store } from '../../store/store.ts';
import { ElsewhereError } from '../elsewhere.ts';
import type { Host, Hosts, Need } from '../hosts.ts';
import type { OtherNodes, OwnedRow } from '../other-nodes.ts';
import { type Candidate, rankPlaces } from './rank-places.ts';

/** Chooses the nodes of new sandboxes, one after the other. */
export const createPlacement = ({
  store,
  candidates,
  others,
  noteCordon,
  toHost,
}: {
  store: Pick<Store, 'measureNodes' | 'listNodes'>;
  /** The nodes of this server. */
  candidates(level: IsolationLevel): Candidate[];
  /** Where there are other servers. */
  others: OtherNodes | undefined;
  /** Called with each row that was read. */
  noteCordon(row: NodeRow): void;
  toHost(place: NodePlace): Host;
}): Pick<Hosts, 'reserve'> => {
  const turns = createTurns(1);

  /** What the database says of the nodes: without other servers, nothing that this one does not know. */
  const readNodes = async ({ staysHere }: Need): Promise<OwnedRow[]> => {
    if (others === undefined) return [];
    // Whose they are does not matter then.
    if (staysHere) return (await store.listNodes()).map((row) => ({ row, lease: undefined }));
    return others.read();
  };

  return {
    reserve: (need, attempt) =>
      turns.take(async () => {
        const [loads, nodes] = await Promise.all([store.measureNodes(), readNodes(need)]);
        for (const { row } of nodes) noteCordon(row);
        const elsewhere = need.staysHere ? [] : (others?.toCandidates(nodes, need.isolation) ?? []);
        const { places, obstacles } = rankPlaces([...candidates(need.isolation), ...elsewhere], loads, need);
        for (const place of places) {
          const other = elsewhere.find(({ name }) => name === place.node);
          if (other !== undefined) throw new ElsewhereError(other.server);
          const result = await attempt(toHost(place));
          if (result !== 'node_full') return result;
          obstacles.push(`${place.node} is full`);
        }
        throw noPlace(need, obstacles);
      }),
  };
};

/** 503 with the reason of each node. */
export const noPlace = ({ node }: Pick<Need, 'node'>, obstacles: readonly string[]): ApiError => {
  const reasons = obstacles.length > 0 ? obstacles.join(', ') : 'the server has no such node';
  const message =
    node === null
      ? `no node can take the sandbox now: ${reasons}`
      : `what the sandbox begins with is on node "${node}" only: ${reasons}`;
  return new ApiError('unavailable', message, { reason: 'sandbox_capacity_unavailable' });
};
