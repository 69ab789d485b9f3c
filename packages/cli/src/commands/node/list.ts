import { type NodeInfo, nodes } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { printJsonLines, printLines } from '../../output/print.ts';
import { toAge, toTable } from '../../table.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean; quiet?: boolean };

const HEAD = ['NAME', 'ADDRESS', 'STATE', 'RUNNING', 'PAUSED', 'MEMORY', 'SEEN', 'EPOCH'];
const OWNER_HEAD = ['OWNER', 'LEASE'];

/** `skerry node list`: a table, or one JSON object or name a line. */
export function listNodesCommand(): Command {
  return withConnectionFlags(
    new Command('list')
      .alias('ls')
      .description('list the nodes of a server')
      .option('--json', 'one JSON object a line')
      .option('-q, --quiet', 'names only'),
  ).action(async ({ json, quiet, ...flags }: Flags) => {
    const all = await nodes.list(await resolveConnection(flags));
    if (json) printJsonLines(all);
    else if (quiet) printLines(all.map(({ name }) => name));
    else printLines(toNodeTable(all));
  });
}

/** The table of nodes, with the columns of owners where several servers share them. */
const toNodeTable = (all: readonly NodeInfo[]): string[] => {
  const isShared = all.some(({ owner }) => owner !== undefined);
  const head = [...HEAD, ...(isShared ? OWNER_HEAD : []), 'PROBLEM'];
  return toTable(
    head,
    all.map((node) => {
      const { problem } = node;
      return [...toRow(node), ...(isShared ? toOwnerCells(node) : []), problem ?? '-'];
    }),
  );
};

const toOwnerCells = ({ owner }: NodeInfo): string[] =>
  owner === undefined ? ['-', '-'] : [owner.address, toAge(owner.leaseAgeMs)];

const toRow = (node: NodeInfo): string[] => {
  const { name, address, lastSeenAt, epoch, room, load } = node;
  return [
    name,
    address,
    toStateCell(node),
    room === undefined ? String(load.sandboxes) : `${load.sandboxes}/${room.sandboxes}`,
    String(load.paused),
    room === undefined ? `${load.memoryMb} MiB` : `${load.memoryMb}/${room.memoryMb} MiB`,
    lastSeenAt === undefined ? 'never' : toAge(Date.now() - +lastSeenAt),
    String(epoch),
  ];
};

const toStateCell = ({ state, cordoned, unschedulable }: NodeInfo): string =>
  [state, ...(cordoned ? ['cordoned'] : []), ...(unschedulable ? ['unschedulable'] : [])].join(', ');
