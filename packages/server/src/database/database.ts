import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createStore, type Log, type Store } from '@skerry/platform';
import { databaseFile } from '../data-folder/data-folder.ts';
import { postgresMark } from '../data-folder/folder-use.ts';
import { UserError } from '../user-error.ts';

/** A URL of PostgreSQL. Throws without repeating the text, which may have a password. */
function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['postgres:', 'postgresql:'].includes(url.protocol) || url.pathname.length < 2)
    throw new UserError('the database must be a URL, as in postgres://user@host:5432/name');
  return url;
}

/**
 * The URL of `--database`. Throws when it has a password: other users of the host can read the arguments of a process.
 */
export function parseDatabase(text: string): string {
  const { password, searchParams } = parseUrl(text);
  if (password || searchParams.has('password'))
    throw new UserError(
      'other users can read the password in the arguments of a process: set PGPASSWORD or PGPASSFILE, or write the URL into a file for --database-file',
    );
  return text;
}

/** The URL in a file of `--database-file`. Throws when others than its owner may read the file. */
export function readDatabaseFile(path: string): string {
  if ((statSync(path).mode & 0o077) !== 0)
    throw new UserError(`other users may read ${path}: run chmod 600 on it`);
  return parseUrl(readFileSync(path, 'utf8').trim()).href;
}

/**
 * Opens the store of a data folder: in PostgreSQL with a URL, else in a file of the folder. Rejects when the folder's state is in
 * the other of the two: sandboxes without a row would be removed.
 */
export async function openStore(
  dataDir: string,
  url: string | undefined,
  {
    secret,
    log,
    isShared = false,
    onError,
  }: {
    secret: string;
    log?: Pick<Log, 'warn'>;
    isShared?: boolean;
    onError?: (() => void) | undefined;
  },
): Promise<Store> {
  const path = databaseFile(dataDir);
  if (url === undefined) {
    if (existsSync(postgresMark(dataDir)))
      throw new UserError(`the state of ${dataDir} is in PostgreSQL: name it by --database`);
    return createStore({ path, secret, onError });
  }
  if (existsSync(path))
    throw new UserError(`the state of ${dataDir} is in ${path}: choose another data folder for --database`);
  // Only here: other servers do not need the driver.
  const { createPostgresStore } = await import('@skerry/platform/postgres');
  const store = await createPostgresStore({ url, secret, log, isShared, onError }).catch(
    (error: Error): never => {
      throw new UserError(toChain(error), { cause: error });
    },
  );
  writeFileSync(postgresMark(dataDir), '', { mode: 0o600 });
  return store;
}

/** The message with those of its causes; the driver's do not have the password. */
function toChain({ message, cause }: Error): string {
  return cause instanceof Error ? `${message}: ${toChain(cause)}` : message;
}
