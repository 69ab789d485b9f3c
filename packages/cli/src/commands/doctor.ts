import { Command } from 'commander';
import { defaultDataFolder } from '../data-folder.ts';

/** `skerry doctor`: tries what sandboxes need on this host; exits with 1 when something needed is off. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('try what this host can do, and print the line that mends what it cannot')
    .option(
      '--data <dir>',
      'data folder whose file system is tried, which need not exist yet',
      defaultDataFolder(),
    )
    .option('--json', 'print the results as one JSON array')
    .action(async ({ data, json }: { data: string; json?: boolean }) => {
      const { examineHost } = await import('../examine-host.ts');
      let interrupted = false;
      const finish = (): void => {
        interrupted = true;
        process.stderr.write('skerry: what was made is being removed; once more ends this at once\n');
      };
      // A probe ends with its sandbox, mounts and links removed, which a signal would cut off.
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, finish);
      const results = await examineHost({ dataDir: data });
      if (json) process.stdout.write(`${JSON.stringify(results)}\n`);
      for (const { name, ok, found, mend } of json ? [] : results) {
        process.stdout.write(
          `${ok ? 'ok  ' : 'OFF '} ${name}: ${found}\n${!ok && mend ? `       mend: ${mend}\n` : ''}`,
        );
      }
      if (interrupted || results.some(({ ok, needed }) => needed && !ok)) process.exitCode = 1;
    });
}
