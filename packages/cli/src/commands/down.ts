import { Command } from 'commander';
import { defaultDataFolder } from '../data-folder.ts';
import { parseDeadline } from './parse-deadline.ts';

/** `skerry down`: ends the folder's server and sandboxes and removes everything that was made from it. */
export function downCommand(): Command {
  return new Command('down')
    .description('stop the service of a data folder and end and remove all its sandboxes')
    .option('--data <dir>', 'folder of the service', defaultDataFolder())
    .option(
      '--deadline <seconds>',
      'how long server, helper, and the end of one sandbox may take before they are ended by force',
      parseDeadline,
      30,
    )
    .action(async ({ data, deadline }: { data: string; deadline: number }) => {
      // No command that talks to a server needs the runtime.
      const { enterGround } = await import('../ground.ts');
      await enterGround({ startsNone: true });
      const { takeDown } = await import('../down.ts');
      const { stopped, endedServer } = await takeDown({
        dataDir: data,
        deadlineMs: deadline * 1000,
        say: (message) => process.stderr.write(`skerry: ${message}\n`),
      });
      const isNothing = stopped === 0 && !endedServer;
      const count = `${stopped} ${stopped === 1 ? 'sandbox' : 'sandboxes'}`;
      process.stdout.write(
        isNothing ? `nothing to stop: ${data} has no server and no sandbox\n` : `stopped ${count}\n`,
      );
    });
}
