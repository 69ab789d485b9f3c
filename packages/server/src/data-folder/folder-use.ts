import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { UserError } from '../user-error.ts';
import { databaseFile } from './data-folder.ts';

/** The command that a data folder belongs to. Another one would remove its sandboxes as unknown, or close them as lost. */
export type FolderUse = 'up' | 'server' | 'node';

/** Says that the sandboxes of a folder are on nodes, and none on this machine. */
const serverMark = (folder: string): string => join(folder, 'nodes');

/** The record of the owner of a node. */
export const ownerFile = (folder: string): string => join(folder, 'owner.json');

/** Says that the state of a folder is in PostgreSQL. */
export const postgresMark = (folder: string): string => join(folder, 'postgres');

/** Records that the folder is of a server with nodes. Only for the owner of the data lock. */
export const markOfServer = (folder: string): void => writeFileSync(serverMark(folder), '', { mode: 0o600 });

/** The command that has used a folder; undefined when none has yet. */
export function findUse(path: string): FolderUse | undefined {
  const folder = resolve(path);
  if (existsSync(serverMark(folder))) return 'server';
  if (existsSync(ownerFile(folder))) return 'node';
  return [databaseFile(folder), postgresMark(folder)].some((file) => existsSync(file)) ? 'up' : undefined;
}

/** Throws `UserError` when another command has used the folder. */
export function requireUse(folder: string, use: FolderUse): void {
  const found = findUse(folder) ?? use;
  if (found !== use)
    throw new UserError(
      `${folder} belongs to "skerry ${found}": choose another data folder for "skerry ${use}"`,
    );
}
