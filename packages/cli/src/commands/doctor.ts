import { Command, Option } from 'commander';
import { dataFolderDefault, defaultDataFolder } from '../data-folder.ts';
import { printJson, printLine, report } from '../output/print.ts';

/** `skerry doctor`: tries what sandboxes need on this host; exits with 1 when a check failed. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('try each feature on this host, and print the command that enables a missing one')
    .addOption(
      new Option(
        '--data <dir>',
        'data folder whose file system is checked; it does not have to exist',
      ).default(defaultDataFolder(), dataFolderDefault),
    )
    .option('--criu <path>', 'try this CRIU instead of the downloaded one')
    .option('--json', 'print the results as one JSON array')
    .action(async ({ data, criu, json }: { data: string; criu?: string; json?: boolean }) => {
      const { examineHost } = await import('../examine-host.ts');
      let interrupted = false;
      const finish = (): void => {
        interrupted = true;
        report('removing test sandboxes; press Ctrl-C again to exit at once');
      };
      // A probe removes its sandbox, mounts and links at its end; a signal would prevent that.
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, finish);
      const results = await examineHost({ dataDir: data, criuProgram: criu });
      if (json) printJson(results);
      for (const { name, ok, found, mend } of json ? [] : results) {
        printLine(`${ok ? 'ok  ' : 'OFF '} ${name}: ${found}`);
        if (!ok && mend) printLine(`       fix: ${mend}`);
      }
      if (interrupted || results.some(({ ok, needed }) => needed && !ok)) process.exitCode = 1;
    });
}
