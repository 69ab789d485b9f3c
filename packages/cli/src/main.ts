#!/usr/bin/env node
import { createRequire } from 'node:module';
import { endOnBrokenPipe } from './broken-pipe.ts';
import { explainFailure } from './explain-failure.ts';
import { type Kind, toKind } from './kind.ts';
import { report, reportText } from './output/print.ts';
import { createProgram } from './program.ts';

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

// The umask of the caller must not apply: users of other ids read files of images and of sandboxes. Private files set
// their mode.
process.umask(0o022);
endOnBrokenPipe();

const toStack = (error: unknown): string => `${(error as Error).stack ?? String(error)}\n`;
// Node would print the message as it is, and words of a sandbox may be in it.
process.on('uncaughtException', (error) => {
  reportText(toStack(error));
  process.exit(1);
});

const program = createProgram({ version });
let kind: Kind | undefined;
program.hook('preAction', (_program, command) => {
  kind = toKind(command);
});
try {
  await program.parseAsync();
} catch (error) {
  const explained = explainFailure(error, kind);
  // An error that this program does not know is a defect, whose report needs the place.
  if (program.opts<{ debug?: boolean }>().debug) reportText(toStack(error));
  if (explained === undefined)
    report(`internal error: ${(error as Error).message}`, '"skerry --debug …" shows where it happened');
  else {
    for (const line of explained.output ?? []) reportText(`${line}\n`);
    report(explained.message, explained.hint);
  }
  process.exitCode ||= 1;
}
// At its end, Node 24 waits for a request of a connection that was reset, which never completes: a server with such
// clients would stay forever, with a core busy. By now everything is closed and written.
process.exit();
