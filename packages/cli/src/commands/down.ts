import { dataFolderDefault, defaultDataFolder, findUse } from '@skerry/server/data-folder';
import { Command, Option } from 'commander';
import { printJson, printLine, report, reportText } from '../output/print.ts';
import { parseDeadline } from './parse-deadline.ts';

/** `skerry down`: ends the server and sandboxes of the folder and removes everything of them from the host. */
export function downCommand(): Command {
  return new Command('down')
    .description('stop the service of a data folder, and end and remove all its sandboxes')
    .addOption(
      new Option('--data <dir>', 'folder of the service').default(defaultDataFolder(), dataFolderDefault),
    )
    .option(
      '--deadline <seconds>',
      'seconds to wait for server, helper, and the end of each sandbox before killing them',
      parseDeadline,
      30,
    )
    .option('--json', 'one JSON object')
    .action(async ({ data, deadline, json }: { data: string; deadline: number; json?: boolean }) => {
      // Commands that call a server do not need the runtime.
      const { enterRootlessNamespace } = await import('@skerry/server/host');
      if (findUse(data) !== 'server') await enterRootlessNamespace({ startsNone: true });
      const { takeDown } = await import('@skerry/server/take-down');
      const { stopped, endedServer } = await takeDown({
        dataDir: data,
        deadlineMs: deadline * 1000,
        say: (message) => report(message),
        onHelperLine: (line) => reportText(`${line}\n`),
      });
      if (json) {
        printJson({ stopped, endedServer });
        return;
      }
      const isNothing = stopped === 0 && !endedServer;
      const count = `${stopped} ${stopped === 1 ? 'sandbox' : 'sandboxes'}`;
      printLine(isNothing ? `nothing to stop: ${data} has no server and no sandbox` : `stopped ${count}`);
    });
}
