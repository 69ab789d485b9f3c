// A helper that serves the runtime only. The helper of the command also makes images.
import { runHelper } from './run-helper.ts';

process.exit(await runHelper({ argv: process.argv.slice(2) }));
