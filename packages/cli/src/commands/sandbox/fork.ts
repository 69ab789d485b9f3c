import { Sandbox } from '@skerry/sdk';
import { Command } from 'commander';
import { resolveConnection, withConnectionFlags } from '../../connection.ts';
import { parseCount } from '../parse-count.ts';
import { parseSeconds } from './parse-seconds.ts';

type Flags = Parameters<typeof resolveConnection>[0] & { count: number; timeout?: number };

/** `skerry sandbox fork ID`: prints the id of each copy; exits with 1 when one of them could not be started. */
export function forkSandboxCommand(): Command {
  return withConnectionFlags(
    new Command('fork')
      .description('start copies of a running sandbox that go on with its processes, and print their ids')
      .argument('<id>', 'id of the sandbox')
      .option('--count <count>', 'how many', parseCount, 1)
      .option('--timeout <seconds>', 'how long each of them lives', parseSeconds),
  ).action(async (id: string, flags: Flags) => {
    const forks = await Sandbox.fork(id, {
      ...resolveConnection(flags),
      count: flags.count,
      ...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout * 1000 }),
    });
    for (const fork of forks) {
      if (fork instanceof Sandbox) {
        process.stdout.write(`${fork.sandboxId}\n`);
      } else {
        process.stderr.write(`skerry: ${fork.message}\n`);
        process.exitCode = 1;
      }
    }
  });
}
