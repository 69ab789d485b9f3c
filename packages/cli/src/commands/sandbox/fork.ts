import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { type resolveConnection, withConnectionFlags } from '../../connection.ts';
import { findReference } from '../../find-reference.ts';
import { printJson, printLine, report } from '../../output/print.ts';
import { toPlainError } from '../for-each.ts';
import { parseCount } from '../parse-count.ts';
import { parseTimeToLive } from '../parse-duration.ts';

type Flags = Parameters<typeof resolveConnection>[0] & {
  count: number;
  timeout?: number;
  memory: boolean;
  json?: boolean;
};

/** `skerry sandbox fork ID`: prints the id of each copy; exits with 1 when a copy could not be started. */
export function forkSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('fork')
      .description('start copies of a running sandbox with its processes, and print their ids')
      .argument('<id>', 'id of the sandbox')
      .option('--count <count>', 'number of copies', parseCount, 1)
      .option('--timeout <time>', 'time to live of each copy, at most 24h (default: 5m)', parseTimeToLive)
      .option('--no-memory', 'copy the files only')
      .option('--json', 'one JSON object a line, with the id of a copy or its error'),
  ).action(async (id: string, flags: Flags) => {
    const found = await findReference('sandbox', id, flags);
    const forks = await Sandbox.fork(found.id, {
      ...found.connection,
      count: flags.count,
      ...(flags.memory ? {} : { memory: false }),
      ...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout * 1000 }),
    });
    for (const fork of forks) {
      const isCopy = fork instanceof Sandbox;
      if (!isCopy) process.exitCode = 1;
      if (flags.json) {
        const line = isCopy ? { sandboxId: fork.sandboxId } : { error: toPlainError(fork) };
        printJson(line);
      } else if (isCopy) {
        printLine(fork.sandboxId);
      } else {
        report(fork.message);
      }
    }
  });
}
