import { Command } from 'commander';
import { defaultDataFolder } from '../data-folder.ts';

/** `skerry down`: ends the folder's server and sandboxes and removes everything that was made from it. */
export function downCommand(): Command {
  return new Command('down')
    .description('stop the service of a data folder and end and remove all its sandboxes')
    .option('--data <dir>', 'folder of the service', defaultDataFolder())
    .action(async ({ data }: { data: string }) => {
      // No command that talks to a server needs the runtime.
      const { enterGround } = await import('../ground.ts');
      await enterGround({ startsNone: true });
      const { takeDown } = await import('../down.ts');
      const { stopped } = await takeDown({ dataDir: data });
      process.stdout.write(`stopped ${stopped} ${stopped === 1 ? 'sandbox' : 'sandboxes'}\n`);
    });
}
