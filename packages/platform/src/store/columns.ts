import {
  CamelCasePlugin,
  type ColumnType,
  type Kysely,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryResult,
  type RootOperationNode,
  type UnknownRow,
} from 'kysely';
import type { Sealer } from './sealer.ts';

/** The columns of a row, of which those are JSON: read as values, and written by `json`. */
export type Columns<Row, Json extends keyof Row = never> = Omit<Row, Json> & {
  [K in Json]: ColumnType<Row[K], JsonText<Row[K]>, JsonText<Row[K]>>;
};

type JsonText<Value> = null extends Value ? string | null : string;

/** Writes a value for a column that is JSON and not sealed. */
export function json(value: object): string;
export function json(value: object | null): string | null;
export function json(value: object | null): string | null {
  return value && JSON.stringify(value);
}

/** Columns of these names are JSON in each table. */
const JSON_COLUMNS = ['metadata', 'network', 'ingress', 'tags', 'reason', 'fields', 'status', 'limits'];
/** Columns of these names have variables, which may be secrets: they are JSON that is written by `Sealer`. */
const SEALED_COLUMNS = ['envVars', 'env', 'runConfig', 'start', 'config', 'answer'];
/** Columns of these names are flags, for which SQLite has numbers. */
const FLAG_COLUMNS = ['secure', 'networkPending', 'public', 'cordoned', 'readOnly'];

class DecodingPlugin implements KyselyPlugin {
  readonly #sealing: Sealer;

  constructor(sealer: Sealer) {
    this.#sealing = sealer;
  }

  transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
    return node;
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    const [first = {}] = result.rows;
    const texts = JSON_COLUMNS.filter((name) => name in first);
    const sealed = SEALED_COLUMNS.filter((name) => name in first);
    const flags = FLAG_COLUMNS.filter((name) => name in first);
    for (const row of result.rows) {
      for (const name of texts) row[name] = row[name] === null ? null : JSON.parse(row[name] as string);
      for (const name of sealed)
        row[name] = row[name] === null ? null : this.#sealing.open(row[name] as string, name);
      for (const name of flags) row[name] = Boolean(row[name]);
    }
    return result;
  }
}

/** Names in the database are in snake case. */
export const createPlugins = (sealer: Sealer): KyselyPlugin[] => [
  new CamelCasePlugin(),
  new DecodingPlugin(sealer),
];

type Kind = 'text' | 'integer' | 'bigint' | 'real' | 'boolean';

/**
 * Creates a table. A column whose kind ends with "?" may be null. The rows of a `child` are deleted with those that they name;
 * rows that others name by `references` cannot be deleted.
 */
export async function createTable(
  db: Kysely<unknown>,
  name: string,
  {
    columns,
    key,
    references = {},
    child = {},
    indexes = {},
  }: {
    columns: Record<string, Kind | `${Kind}?`>;
    /** The column or columns of the primary key; without it the rows are numbered by `id`. */
    key?: string[];
    /** Columns, with the tables whose `id` they name. */
    references?: Record<string, string>;
    child?: Record<string, string>;
    /** The columns of each index, by its name. */
    indexes?: Record<string, string[]>;
  },
): Promise<void> {
  let table = db.schema.createTable(name);
  if (key === undefined)
    table = table.addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement());
  else table = table.addPrimaryKeyConstraint(`${name}Key`, key as never);
  for (const [column, kind] of Object.entries(columns)) {
    const isNullable = kind.endsWith('?');
    const type = kind.replace('?', '') as Kind;
    table = table.addColumn(column, type, (built) => (isNullable ? built : built.notNull()));
  }
  for (const [column, parent] of Object.entries({ ...references, ...child }))
    table = table.addForeignKeyConstraint(`${name}Of${column}`, [column] as never, parent, ['id'], (key) =>
      column in child ? key.onDelete('cascade') : key,
    );
  await table.execute();
  for (const [index, of] of Object.entries(indexes))
    await db.schema.createIndex(index).on(name).columns(of).execute();
}
