import { Command } from 'commander';

/** `skerry doctor`: tries what sandboxes need on this host; exits with 1 when something needed is off. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('try what this host can do, and print the line that mends what it cannot')
    .option('--criu <path>', 'try this CRIU in place of the one that is fetched')
    .option('--json', 'print the results as one JSON array')
    .action(async ({ criu, json }: { criu?: string; json?: boolean }) => {
      const { examineHost } = await import('../examine-host.ts');
      const results = await examineHost({ criuProgram: criu });
      if (json) process.stdout.write(`${JSON.stringify(results)}\n`);
      for (const { name, ok, found, mend } of json ? [] : results) {
        process.stdout.write(
          `${ok ? 'ok  ' : 'OFF '} ${name}: ${found}\n${!ok && mend ? `       mend: ${mend}\n` : ''}`,
        );
      }
      if (results.some(({ ok, needed }) => needed && !ok)) process.exitCode = 1;
    });
}
