import { type RawBuilder, type SqlBool, sql } from 'kysely';

/** The condition for rows after a position in a list with the newest first, ties by id. An index finds where a pair begins. */
export const isAfter = (
  table: 'builds' | 'snapshots' | 'templates',
  { createdAt, id }: { createdAt: number; id: string },
): RawBuilder<SqlBool> =>
  sql<SqlBool>`(${sql.ref(`${table}.createdAt`)}, ${sql.ref(`${table}.id`)}) < (${createdAt}, ${id})`;
