import { type SqlBool, sql } from 'kysely';

/** What a caller may see and change. Its key sets it, and queries take it. */
export interface Scope {
  /** The only project whose sandboxes, snapshots and templates there are for it; null: all. */
  project: string | null;
  /** Whether it changes nothing, and learns no token with which a sandbox could be changed. */
  isReadOnly: boolean;
}

/** The project of what callers make whose keys are not limited to one. */
export const DEFAULT_PROJECT = 'local';

/** The scope of a server that acts for itself. */
export const EVERYTHING: Scope = { project: null, isReadOnly: false };

/** The project of what a caller makes. */
export const toOwnProject = ({ project }: Scope): string => project ?? DEFAULT_PROJECT;

/** The condition that a row belongs to the project of a scope. */
export const isOwned = (
  column: 'sandboxes.project' | 'snapshots.project' | 'templates.project',
  { project }: Pick<Scope, 'project'>,
) => (project === null ? sql<SqlBool>`true` : sql<SqlBool>`${sql.ref(column)} = ${project}`);
