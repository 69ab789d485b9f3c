import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { type GenerateArguments, parseGenerateArguments } from './arguments.ts';
import { GeneratorInstallError, installGenerator } from './install-generator.ts';

export interface Generator {
  usage: string;
  source: 'spec' | 'proto';
  /** A folder with generate.js and a package.json that names, in exact versions, what it imports. */
  program: string;
}

/**
 * Runs a generator with the arguments of this process, and exits with its status. What the generator needs is tens of megabytes,
 * which users of a client alone should not install: npm fetches it into the user's cache at the first run.
 */
export function startGenerator({ usage, source, program }: Generator): never {
  const argv = process.argv.slice(2);
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(usage);
    process.exit(0);
  }
  let parsed: GenerateArguments;
  try {
    parsed = parseGenerateArguments(argv, source);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
  let installed: string;
  try {
    installed = installGenerator(program);
  } catch (error) {
    if (!(error instanceof GeneratorInstallError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
  const { status } = spawnSync(process.execPath, [join(installed, 'generate.js'), JSON.stringify(parsed)], {
    stdio: 'inherit',
  });
  process.exit(status ?? 1);
}
