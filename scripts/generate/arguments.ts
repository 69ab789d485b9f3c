import { parseArgs } from 'node:util';
import type { ImportExtension } from './openapi-types.ts';

/** What a call of `generate` asks for. */
export interface GenerateArguments {
  /** The value of --spec or --proto. */
  source: string;
  /** Where the client is written. */
  out: string;
  importExtension: ImportExtension;
}

/** Parses `generate --SOURCE VALUE --out FOLDER [--import-extension js|ts]`. Throws with what is wrong. */
export function parseGenerateArguments(argv: string[], source: 'spec' | 'proto'): GenerateArguments {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      [source]: { type: 'string' },
      out: { type: 'string' },
      'import-extension': { type: 'string', default: 'js' },
    },
  });
  const { [source]: from, out, 'import-extension': importExtension } = values;
  const [verb, ...rest] = positionals;
  if (verb !== 'generate' || rest.length > 0) throw new Error('the command is: generate');
  if (typeof from !== 'string' || from === '') throw new Error(`--${source} is missing`);
  if (typeof out !== 'string' || out === '') throw new Error('--out is missing');
  if (importExtension !== 'js' && importExtension !== 'ts')
    throw new Error('--import-extension must be js or ts');
  return { source: from, out, importExtension };
}
