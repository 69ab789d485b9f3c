import { type ForeignMemory, foreignMemoryChoices } from '@skerry/contract/foreign-memory';
import { UserError } from '@skerry/server/user-error';
import { Command, Option } from 'commander';
import { parseCount } from '../parse-count.ts';
import { parseAddress } from '../parse-node.ts';
import {
  type CredentialFlags,
  toCredentialFiles,
  withCredentialOptions,
} from '../serve/credential-options.ts';
import { type ForegroundFlags, runInForeground, withForegroundOptions } from '../serve/foreground.ts';
import { type HostFlags, toHostOptions, withHostOptions } from '../serve/host-options.ts';
import { type MetricsFlag, withMetricsOption } from '../serve/metrics-option.ts';
import { OPTION_GROUPS } from '../serve/option-groups.ts';
import { withDataOption } from '../serve/serving-options.ts';
import { authorityCommand } from './authority.ts';
import { certCommand } from './cert.ts';
import { cordonNodeCommand, uncordonNodeCommand } from './cordon.ts';
import { drainNodeCommand } from './drain.ts';
import { forgetNodesCommand } from './forget.ts';
import { listNodesCommand } from './list.ts';
import { requestCommand } from './request.ts';

interface NodeFlags extends HostFlags, CredentialFlags, ForegroundFlags, MetricsFlag {
  data: string;
  listen?: { host: string; port: number };
  maxSandboxes: number;
  foreignMemory: ForeignMemory;
}

/**
 * `skerry node`: makes sandboxes for a server on another machine, in the foreground until SIGINT or SIGTERM; sandboxes keep
 * running. Its subcommands work with the nodes of a server.
 */
export function nodeCommand({ version }: { version: string }): Command {
  const command = new Command('node')
    .summary('make sandboxes for servers, and work with nodes')
    .description(
      'make sandboxes on this machine for a "skerry server"; with a command: work with the nodes of a server',
    );
  withHostOptions(withDataOption(command))
    .optionsGroup(OPTION_GROUPS.nodes)
    .option('--listen <host:port>', 'address at which servers reach this node', parseAddress)
    .optionsGroup(OPTION_GROUPS.sandboxes)
    .option('--max-sandboxes <count>', 'how many may run on this node, without paused ones', parseCount, 100)
    .optionsGroup(OPTION_GROUPS.storage)
    .addOption(
      new Option(
        '--foreign-memory <choice>',
        'whether this node restores memory of the blob store, which another node has written',
      )
        .choices(foreignMemoryChoices)
        .default('allow'),
    );
  return withForegroundOptions(withMetricsOption(withCredentialOptions(command)))
    .enablePositionalOptions()
    .action(async (flags: NodeFlags) => {
      const { listen } = flags;
      if (listen === undefined)
        throw new UserError('--listen is needed: the address at which servers reach this node');
      const { refuseHost } = await import('@skerry/server/host');
      refuseHost();
      await runInForeground(flags, async (foreground) => {
        const { startNode } = await import('@skerry/server/node');
        const node = await startNode({
          ...toHostOptions(flags),
          ...foreground,
          dataDir: flags.data,
          files: toCredentialFiles(flags),
          listen,
          maxSandboxes: flags.maxSandboxes,
          foreignMemory: flags.foreignMemory,
          version,
          metricsListen: flags.metricsListen,
        });
        const { name, host, port } = node.address;
        const text = `node "${name}" listens on ${host}:${port}; Ctrl-C stops it and leaves sandboxes running\n`;
        return { ...node, ready: { json: node.address, text } };
      });
    })
    .addCommand(certCommand())
    .addCommand(authorityCommand())
    .addCommand(requestCommand())
    .addCommand(listNodesCommand())
    .addCommand(cordonNodeCommand())
    .addCommand(uncordonNodeCommand())
    .addCommand(drainNodeCommand())
    .addCommand(forgetNodesCommand());
}
