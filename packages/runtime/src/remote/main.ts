// A helper that serves the runtime alone. The command has one that makes images as well.
import { runHelper } from './run-helper.ts';

process.exit(await runHelper({ argv: process.argv.slice(2) }));
