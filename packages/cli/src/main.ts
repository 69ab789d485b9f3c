#!/usr/bin/env node
import { createRequire } from 'node:module';
import { CliError } from './cli-error.ts';
import { createProgram } from './program.ts';

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

// Images and sandboxes are for more users than this one, whatever its own files are to be like: what is private says so itself.
process.umask(0o022);

try {
  await createProgram({ version }).parseAsync();
} catch (error) {
  // What a person can act on is one line; anything else is a defect and shows where it happened.
  process.stderr.write(
    error instanceof CliError ? `skerry: ${error.message}\n` : `${(error as Error).stack ?? String(error)}\n`,
  );
  process.exitCode = 1;
}
// Left to itself, Node 24 waits at its end for a request of a connection that was reset, which never completes: a server that
// had such clients would stay for ever, with a core busy. By now everything is closed and written.
process.exit();
