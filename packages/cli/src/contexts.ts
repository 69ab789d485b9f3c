import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { UserError } from '@skerry/server/user-error';

/** A server that commands may talk to. */
export interface Context {
  apiUrl: string;
  apiKey: string;
  /** Domain of the sandboxes, where it is not that of the API. */
  domain?: string;
}

/** What the file of contexts holds. */
export interface Contexts {
  /** Name of the one that commands talk to; absent for the server of this machine. */
  current?: string;
  contexts: Record<string, Context>;
}

/** The user's file of contexts: below `XDG_CONFIG_HOME`, or `~/.config`. */
export const contextsFile = (env: NodeJS.ProcessEnv = process.env): string =>
  join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'skerry', 'contexts.json');

/** The contexts of the file; none when there is no file. Throws `UserError` for a file that is not JSON. */
export function readContexts(file: string): Contexts {
  try {
    const { current, contexts = {} } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Contexts>;
    return { ...(current === undefined ? {} : { current }), contexts };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { contexts: {} };
    if (error instanceof SyntaxError) throw new UserError(`${file} is not JSON: ${error.message}`);
    throw error;
  }
}

/** Replaces the file in one step. It holds keys: only its owner may read it. */
export function writeContexts(file: string, contexts: Contexts): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const part = `${file}.${process.pid}`;
  writeFileSync(part, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
  renameSync(part, file);
}

/** The context of that name. Throws `UserError` when the file has none. */
export function findContext({ contexts }: Contexts, name: string): Context {
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (context === undefined) {
    const names = Object.keys(contexts).join(', ') || 'none';
    throw new UserError(`no context ${name}; there are: ${names}`);
  }
  return context;
}
