import pg, { type ClientConfig } from 'pg';

const CONNECT_MS = 5_000;
const LOCK_WAIT_MS = 10_000;
/** Longer than a wait for a lock, whose error has the reason. */
const STATEMENT_MS = 30_000;
/** A transaction holds a lock for which those of all servers wait: one of a server that hangs must not stop the others. */
const IDLE_MS = 5_000;
/**
 * A call rejects after this multiple of the statement's limit. The database ends the statement earlier,
 * unless the database does not respond at all.
 */
const RESPONSE_FACTOR = 1.5;

// pg_type.dat. Times and sizes fit into a double; as a text, `pg`'s default, they would be concatenated.
const INT8 = 20;

interface TimeLimits {
  /**
   * The limit of each statement; the default is 30 s. `none` is for migrations, which may rewrite a table.
   */
  statementMs?: number | 'none';
  /** The limit of the time between the statements of a transaction; the default is 5 s. */
  idleMs?: number;
}

/**
 * The settings of every connection to the database of a URL. Options in the URL hold, except for those that the store
 * relies on.
 */
export const toConfig = (
  url: string,
  { statementMs = STATEMENT_MS, idleMs = IDLE_MS }: TimeLimits = {},
): ClientConfig => {
  const { connectionString, options } = splitOptions(url);
  const limit = statementMs === 'none' ? undefined : statementMs;
  return {
    connectionString,
    application_name: 'skerry',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    ...(limit !== undefined && { query_timeout: limit * RESPONSE_FACTOR }),
    options: [
      options,
      // Acknowledged means committed, whatever the default of the database is.
      '-c synchronous_commit=on',
      `-c lock_timeout=${LOCK_WAIT_MS}`,
      `-c statement_timeout=${limit ?? 0}`,
      `-c idle_in_transaction_session_timeout=${idleMs}`,
    ].join(' '),
    types: {
      getTypeParser: ((oid: number, format: 'text') =>
        oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
  };
};

/** `pg` takes the options of a URL in place of those of the settings. */
const splitOptions = (text: string): { connectionString: string; options: string } => {
  const url = new URL(text);
  const options = url.searchParams.get('options');
  if (options === null) return { connectionString: text, options: '' };
  url.searchParams.delete('options');
  return { connectionString: url.href, options };
};
