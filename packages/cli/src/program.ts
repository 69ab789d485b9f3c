import { Command } from 'commander';
import { doctorCommand } from './commands/doctor.ts';
import { downCommand } from './commands/down.ts';
import { createSandboxCommand } from './commands/sandbox/create.ts';
import { execSandboxCommand } from './commands/sandbox/exec.ts';
import { forkSandboxCommand } from './commands/sandbox/fork.ts';
import { killSandboxCommand } from './commands/sandbox/kill.ts';
import { listSandboxesCommand } from './commands/sandbox/list.ts';
import { sandboxLogsCommand } from './commands/sandbox/logs.ts';
import { sandboxMetricsCommand } from './commands/sandbox/metrics.ts';
import { pauseSandboxCommand } from './commands/sandbox/pause.ts';
import { resumeSandboxCommand } from './commands/sandbox/resume.ts';
import { createSnapshotCommand } from './commands/snapshot/create.ts';
import { deleteSnapshotCommand } from './commands/snapshot/delete.ts';
import { diffSnapshotsCommand } from './commands/snapshot/diff.ts';
import { listSnapshotsCommand } from './commands/snapshot/list.ts';
import { logSnapshotCommand } from './commands/snapshot/log.ts';
import { verifySnapshotCommand } from './commands/snapshot/verify.ts';
import { upCommand } from './commands/up.ts';

/** The whole command line, ready to parse. */
export function createProgram({ version }: { version: string }): Command {
  const sandbox = new Command('sandbox')
    .description('work with sandboxes')
    .enablePositionalOptions()
    .addCommand(createSandboxCommand())
    .addCommand(listSandboxesCommand())
    .addCommand(execSandboxCommand())
    .addCommand(sandboxLogsCommand())
    .addCommand(sandboxMetricsCommand())
    .addCommand(pauseSandboxCommand())
    .addCommand(resumeSandboxCommand())
    .addCommand(forkSandboxCommand())
    .addCommand(killSandboxCommand());
  const snapshot = new Command('snapshot')
    .description('work with snapshots of sandboxes')
    .enablePositionalOptions()
    .addCommand(createSnapshotCommand())
    .addCommand(listSnapshotsCommand())
    .addCommand(verifySnapshotCommand())
    .addCommand(diffSnapshotsCommand())
    .addCommand(logSnapshotCommand())
    .addCommand(deleteSnapshotCommand());
  return new Command('skerry')
    .description('isolated Linux sandboxes on your own machine')
    .version(version)
    .enablePositionalOptions()
    .addCommand(upCommand())
    .addCommand(downCommand())
    .addCommand(doctorCommand())
    .addCommand(sandbox)
    .addCommand(snapshot);
}
