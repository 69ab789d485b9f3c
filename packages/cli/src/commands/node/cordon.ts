import { type NodeInfo, nodes } from '@skerry/sdk';
import type { Command } from 'commander';
import { toNodesCommand } from './nodes-command.ts';

const toFields = ({ cordoned, state }: NodeInfo) => ({ cordoned, state });

/** `skerry node cordon NAME…`: exits with 1 when there is no such node. */
export const cordonNodeCommand = (): Command =>
  toNodesCommand('cordon', {
    description: 'place no new sandboxes on nodes; what is on them continues',
    act: nodes.cordon,
    toFields,
  });

/** `skerry node uncordon NAME…`: exits with 1 when there is no such node. */
export const uncordonNodeCommand = (): Command =>
  toNodesCommand('uncordon', {
    description: 'place sandboxes on nodes again, after a cordon or a drain',
    act: nodes.uncordon,
    toFields,
  });
