import type { NodeLoad } from '../../store/nodes/node-rows.ts';
import type { NodePlace } from '../../store/rows.ts';
import type { Need } from '../hosts.ts';

/** A node as placement sees it. */
export interface Candidate {
  name: string;
  /** Why it takes no sandbox now; undefined when it does. */
  obstacle: string | undefined;
  room: { sandboxes: number; memoryMb: number };
  /** The used memory that the machine reported last. */
  usedMemoryMb: number;
}

/**
 * The number of nodes that are compared. With more, servers that place at the same time would all choose the
 * one that was best a moment ago.
 */
const COMPARED = 3;
/**
 * The weight of used memory, part of which is memory that sandboxes have reserved and that is counted
 * already.
 */
const USED_WEIGHT = 0.5;

/**
 * The places for a request, best first: the best of three that are preferred, then of three others, then all the rest. The best is that whose
 * memory is taken least with the sandbox on it: what is reserved there, and half of what is in use; ties by name. Preferred nodes
 * whose memory is all taken are not. Also returns why each other node is none.
 */
export const rankPlaces = (
  candidates: readonly Candidate[],
  loads: readonly NodeLoad[],
  { memoryMb, node, prefers, without = [], refusing = [] }: Need,
  random: () => number = Math.random,
): { places: NodePlace[]; obstacles: string[] } => {
  const obstacles: string[] = [];
  const able: Ranked[] = [];
  const preferredNames = prefers?.nodes() ?? [];
  const loadOf = new Map(loads.map((load) => [load.name, load]));
  for (const { name, obstacle, room, usedMemoryMb } of candidates) {
    if (node !== null && name !== node) continue;
    const load = loadOf.get(name);
    const share = ((load?.memoryMb ?? 0) + memoryMb + USED_WEIGHT * usedMemoryMb) / room.memoryMb;
    if (obstacle !== undefined) obstacles.push(`${name} ${obstacle}`);
    else if (without.includes(name)) obstacles.push(`${name} has no capacity`);
    else if (refusing.includes(name)) obstacles.push(`${name} has refused it`);
    else if ((load?.placed ?? 0) >= room.sandboxes) obstacles.push(`${name} is full`);
    else {
      const isPreferred = preferredNames.includes(name) && share <= 1;
      able.push({ node: name, maxActive: room.sandboxes, share, isPreferred });
    }
  }
  const preferred = compare(
    able.filter(({ isPreferred }) => isPreferred),
    random,
  );
  const others = compare(
    able.filter(({ isPreferred }) => !isPreferred),
    random,
  );
  const compared = [...preferred.best, ...others.best];
  const places = [...preferred.best, ...preferred.rest, ...others.best, ...others.rest].map((place) => ({
    node: place.node,
    maxActive: place.maxActive,
    // A getter: with many nodes, the reason is read for one of them.
    get reason() {
      if (node !== null) return 'what it begins with is there only';
      return describeChoice(place, { compared, obstacles, because: prefers?.because });
    },
  }));
  return { places, obstacles };
};

interface Ranked extends NodePlace {
  /** The part of the node's memory that is taken once the sandbox is there; above 1 it is overcommitted. */
  share: number;
  isPreferred: boolean;
}

/** Three of them, and the others, the best first. */
const compare = (places: readonly Ranked[], random: () => number): { best: Ranked[]; rest: Ranked[] } => {
  const rest = places.toSorted(byShare);
  if (rest.length <= COMPARED) return { best: rest, rest: [] };
  const best: Ranked[] = [];
  while (best.length < COMPARED) best.push(...rest.splice(Math.floor(random() * rest.length), 1));
  return { best: best.toSorted(byShare), rest };
};

const byShare = (a: Ranked, b: Ranked): number => a.share - b.share || (a.node < b.node ? -1 : 1);

const describeChoice = (
  place: Ranked,
  {
    compared,
    obstacles,
    because,
  }: { compared: readonly Ranked[]; obstacles: readonly string[]; because: string | undefined },
): string => {
  const describe = ({ node, share }: Ranked): string => `${node} ${Math.ceil(share * 100)} %`;
  const why = place.isPreferred && because !== undefined ? because : 'its memory is taken least';
  const others = compared.filter((one) => one !== place).map(describe);
  return [`${why}: ${describe(place)} with the sandbox`, ...others, ...obstacles].join(', ');
};
