import { Command } from 'commander';
import { type Connection, resolveConnection, withConnectionFlags } from '../../connection.ts';
import { forEach } from '../for-each.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { json?: boolean };

/** A command that does the same to each node that it names, and exits with 1 when that fails for one of them. */
export const toNodesCommand = <Result>(
  verb: string,
  options: {
    description: string;
    act: (node: Connection & { name: string }) => Promise<Result>;
    /** What `--json` prints of the result, beside the name. */
    toFields: (result: Result) => object;
  },
): Command =>
  withConnectionFlags(
    new Command(verb)
      .description(options.description)
      .argument('<node...>', 'names of the nodes')
      .option('--json', 'one JSON object a line'),
  ).action(async (ids: string[], { json, ...flags }: Flags) => {
    const connection = await resolveConnection(flags);
    await forEach({
      ids,
      act: (name) => options.act({ ...connection, name }),
      kind: 'node',
      toJson: json && options.toFields,
    });
  });
