import { nodes } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { forEach } from '../for-each.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** `skerry node cordon NAME…`: exits with 1 when there is no such node. */
export const cordonNodeCommand = (): Command =>
  toCommand('cordon', 'place no new sandboxes on nodes; what is on them continues');

/** `skerry node uncordon NAME…`: exits with 1 when there is no such node. */
export const uncordonNodeCommand = (): Command =>
  toCommand('uncordon', 'place sandboxes on nodes again, after a cordon or a drain');

const toCommand = (verb: 'cordon' | 'uncordon', description: string): Command =>
  withConnectionFlags(
    new Command(verb)
      .description(description)
      .argument('<node...>', 'names of the nodes')
      .option('--json', 'one JSON object a line'),
  ).action(async (ids: string[], { json, ...flags }: Flags) => {
    const connection = await resolveConnection(flags);
    await forEach({
      ids,
      act: (name) => nodes[verb]({ ...connection, name }),
      json: json ? { key: 'node', toFields: ({ cordoned, state }) => ({ cordoned, state }) } : undefined,
    });
  });
