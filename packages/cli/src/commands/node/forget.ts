import { nodes } from '@skerry/sdk';
import type { Command } from 'commander';
import { toNodesCommand } from './nodes-command.ts';

/** `skerry node forget NAME…`: exits with 1 when one answers or does not exist. */
export const forgetNodesCommand = (): Command =>
  toNodesCommand('forget', {
    description: 'end what is on nodes that do not come back, as lost, and delete their records',
    act: nodes.forget,
    toFields: () => ({ forgotten: true }),
  });
