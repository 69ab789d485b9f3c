import { Command } from 'commander';
import { addCompletionCommand } from './commands/completion.ts';
import { addContextCommand } from './commands/context/add.ts';
import { listContextsCommand } from './commands/context/list.ts';
import { removeContextCommand } from './commands/context/remove.ts';
import { useContextCommand } from './commands/context/use.ts';
import { doctorCommand } from './commands/doctor.ts';
import { downCommand } from './commands/down.ts';
import { envCommand } from './commands/env.ts';
import { addExamples } from './commands/examples.ts';
import { addForeignWords } from './commands/foreign-words.ts';
import { loadImageCommand } from './commands/image/load.ts';
import { saveImageCommand } from './commands/image/save.ts';
import { createKeyCommand } from './commands/key/create.ts';
import { limitKeyCommand } from './commands/key/limit.ts';
import { listKeysCommand } from './commands/key/list.ts';
import { renameKeyCommand } from './commands/key/rename.ts';
import { revokeKeysCommand } from './commands/key/revoke.ts';
import { nodeCommand } from './commands/node/node.ts';
import { connectSandboxCommand } from './commands/sandbox/connect.ts';
import { copySandboxCommand } from './commands/sandbox/cp.ts';
import { createSandboxCommand } from './commands/sandbox/create.ts';
import { sandboxEventsCommand } from './commands/sandbox/events.ts';
import { execSandboxCommand } from './commands/sandbox/exec.ts';
import { explainSandboxCommand } from './commands/sandbox/explain.ts';
import { forkSandboxCommand } from './commands/sandbox/fork.ts';
import { sandboxInfoCommand } from './commands/sandbox/info.ts';
import { killSandboxCommand } from './commands/sandbox/kill.ts';
import { listSandboxesCommand } from './commands/sandbox/list.ts';
import { sandboxLogsCommand } from './commands/sandbox/logs.ts';
import { sandboxMetricsCommand } from './commands/sandbox/metrics.ts';
import { pauseSandboxCommand } from './commands/sandbox/pause.ts';
import { openPortCommand } from './commands/sandbox/port/open.ts';
import { resumeSandboxCommand } from './commands/sandbox/resume.ts';
import { runSandboxCommand } from './commands/sandbox/run.ts';
import { sandboxUrlCommand } from './commands/sandbox/url.ts';
import { serverCommand } from './commands/server.ts';
import { createSnapshotCommand } from './commands/snapshot/create.ts';
import { deleteSnapshotCommand } from './commands/snapshot/delete.ts';
import { diffSnapshotsCommand } from './commands/snapshot/diff.ts';
import { listSnapshotsCommand } from './commands/snapshot/list.ts';
import { logSnapshotCommand } from './commands/snapshot/log.ts';
import { verifySnapshotCommand } from './commands/snapshot/verify.ts';
import { statusCommand } from './commands/status.ts';
import { storageUsageCommand } from './commands/system/df.ts';
import { pruneStorageCommand } from './commands/system/prune.ts';
import { buildTemplateCommand } from './commands/template/build.ts';
import { cacheCommand } from './commands/template/cache/cache.ts';
import { deleteTemplateCommand } from './commands/template/delete.ts';
import { listTemplatesCommand } from './commands/template/list.ts';
import { templateLogsCommand } from './commands/template/logs.ts';
import { showTemplateCommand } from './commands/template/show.ts';
import { tagTemplateCommand } from './commands/template/tag.ts';
import { initTlsCommand } from './commands/tls/init.ts';
import { upCommand } from './commands/up.ts';
import { reportText } from './output/print.ts';

/** The whole command line, ready to parse. */
export function createProgram({ version }: { version: string }): Command {
  const port = new Command('port')
    .description('work with ports of sandboxes')
    .enablePositionalOptions()
    .addCommand(openPortCommand());
  const sandbox = new Command('sandbox')
    .description('all commands for sandboxes')
    .enablePositionalOptions()
    .addCommand(createSandboxCommand())
    .addCommand(runSandboxCommand())
    .addCommand(listSandboxesCommand())
    .addCommand(sandboxInfoCommand())
    .addCommand(execSandboxCommand())
    .addCommand(connectSandboxCommand())
    .addCommand(copySandboxCommand())
    .addCommand(sandboxUrlCommand())
    .addCommand(port)
    .addCommand(sandboxLogsCommand())
    .addCommand(sandboxEventsCommand())
    .addCommand(sandboxMetricsCommand())
    .addCommand(explainSandboxCommand())
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
  const template = new Command('template')
    .description('build templates, and work with them')
    .enablePositionalOptions()
    .addCommand(buildTemplateCommand())
    .addCommand(listTemplatesCommand())
    .addCommand(showTemplateCommand())
    .addCommand(templateLogsCommand())
    .addCommand(tagTemplateCommand())
    .addCommand(deleteTemplateCommand())
    .addCommand(cacheCommand());
  const image = new Command('image')
    .description('exchange images with other programs, as files')
    .enablePositionalOptions()
    .addCommand(loadImageCommand())
    .addCommand(saveImageCommand());
  const system = new Command('system')
    .description('look after the disk of the service')
    .enablePositionalOptions()
    .addCommand(storageUsageCommand())
    .addCommand(pruneStorageCommand());
  const context = new Command('context')
    .description('work with servers that have a name')
    .enablePositionalOptions()
    .addCommand(addContextCommand())
    .addCommand(listContextsCommand())
    .addCommand(useContextCommand())
    .addCommand(removeContextCommand());
  const key = new Command('key')
    .description('work with the keys of a server: one for each program')
    .enablePositionalOptions()
    .addCommand(createKeyCommand())
    .addCommand(listKeysCommand())
    .addCommand(renameKeyCommand())
    .addCommand(limitKeyCommand())
    .addCommand(revokeKeysCommand());
  const tls = new Command('tls')
    .description('make certificates for the address of the service')
    .enablePositionalOptions()
    .addCommand(initTlsCommand());
  const program = new Command('skerry')
    .description('isolated Linux sandboxes on your own machine')
    .version(version)
    .option('--debug', 'show where an error happened')
    .enablePositionalOptions()
    .commandsGroup('Sandboxes:')
    .addCommand(createSandboxCommand())
    .addCommand(runSandboxCommand())
    .addCommand(execSandboxCommand())
    .addCommand(copySandboxCommand())
    .addCommand(listSandboxesCommand({ name: 'ls', alias: 'list' }))
    .addCommand(sandboxLogsCommand())
    .addCommand(killSandboxCommand({ name: 'rm', alias: 'kill' }))
    .addCommand(sandbox)
    .commandsGroup('Server:')
    .addCommand(upCommand())
    .addCommand(statusCommand({ version }))
    .addCommand(envCommand())
    .addCommand(downCommand())
    .addCommand(doctorCommand())
    .addCommand(serverCommand())
    .addCommand(nodeCommand({ version }))
    .addCommand(key)
    .addCommand(tls)
    .commandsGroup('Templates, snapshots and the rest:')
    .addCommand(snapshot)
    .addCommand(template)
    .addCommand(image)
    .addCommand(system)
    .addCommand(context);
  addForeignWords(program, sandbox);
  addCompletionCommand(program);
  addExamples(program);
  reportErrors(program);
  return program;
}

/** Has a command and those below it write what is wrong with their arguments as any other error. */
function reportErrors(command: Command): void {
  command.configureOutput({ writeErr: reportText });
  for (const child of command.commands) reportErrors(child);
}
