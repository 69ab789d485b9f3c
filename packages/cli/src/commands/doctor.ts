import type { ProbeResult } from '@skerry/runtime';
import { dataFolderDefault, defaultDataFolder } from '@skerry/server/data-folder';
import { Command, Option } from 'commander';
import { printJson, printLine, printLines, report } from '../output/print.ts';

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
      const { examineHost } = await import('@skerry/server/host');
      const interruption = new AbortController();
      const finish = (): void => {
        interruption.abort();
        report('removing test sandboxes; press Ctrl-C again to exit at once');
      };
      // A probe removes its sandbox, mounts and links at its end; a signal would prevent that.
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, finish);
      const results: ProbeResult[] = [];
      const { signal } = interruption;
      for await (const result of examineHost({ dataDir: data, criuProgram: criu, signal })) {
        // What an interrupted probe has found says nothing of the host.
        if (signal.aborted) break;
        results.push(result);
        if (!json) printResult(result);
      }
      if (signal.aborted) {
        process.exitCode = 1;
        return;
      }
      if (json) printJson(results);
      else printLines(['', summarize(results)]);
      if (results.some(isObstacle)) process.exitCode = 1;
    });
}

const isObstacle = ({ ok, needed }: ProbeResult): boolean => needed && !ok;

function printResult({ name, ok, found, mend }: ProbeResult): void {
  printLine(`${ok ? 'ok  ' : 'OFF '} ${name}: ${found}`);
  if (!ok && mend) printLine(`       fix: ${mend}`);
}

/** One line: whether sandboxes can be made here, and what they would lack. */
function summarize(results: readonly ProbeResult[]): string {
  const namesOf = (some: readonly ProbeResult[]): string => some.map(({ name }) => name).join(', ');
  const obstacles = results.filter(isObstacle);
  if (obstacles.length > 0)
    return `no sandbox can be made on this host yet: ${namesOf(obstacles)}; the lines "fix" say what to do`;
  const off = results.filter(({ ok }) => !ok);
  return off.length === 0
    ? 'sandboxes can be made on this host, with every feature'
    : `sandboxes can be made on this host, without: ${namesOf(off)}`;
}
