import { ApiError } from '@skerry/contract/error';
import { createAccountFile } from './account-file.ts';

export interface User {
  name: string;
  uid: number;
  gid: number;
  home: string;
  /** Supplementary groups, without `gid`. */
  groups: readonly number[];
}

/** The names behind numbers. */
export interface AccountNames {
  /** The name of a user id, or its digits. */
  userName(uid: number): string;
  /** The name of a group id, or its digits. */
  groupName(gid: number): string;
}

export interface Users {
  /**
   * A user by name, or by a number, which needs no account, optionally with a slash and a group, by name or number, that replaces
   * all groups. Throws `unauthenticated` when the sandbox has no such user or group.
   */
  get(name: string): User;
  /** The id of a group; undefined when the sandbox has no such group. `root` exists even without a group file. */
  findGroup(name: string): number | undefined;
  /** The names of now. A caller that needs many takes one of these, since each call looks at the files. */
  names(): AccountNames;
}

const ROOT: readonly string[] = ['root', 'x', '0', '0', 'root', '/root', ''];

const parseId = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;

/** One less than the "unchanged" of chown(2). */
const MAX_ID = 2 ** 32 - 2;

/** The account of a name, or of a number; one for itself for a number without account. */
const findRow = (rows: readonly (readonly string[])[], text: string): readonly string[] | undefined => {
  const named = rows.find(([name]) => name === text) ?? (text === 'root' ? ROOT : undefined);
  const id = parseId(text);
  if (named !== undefined || id === undefined || id > MAX_ID) return named;
  const numbered = rows.find(([, , own]) => parseId(own) === id) ?? (id === 0 ? ROOT : undefined);
  return numbered ?? [text, 'x', text, '0', '', '/'];
};

const toNames = (rows: readonly (readonly string[])[]): Map<number, string> => {
  const names = new Map<number, string>();
  for (const [name, , id] of rows) {
    const number = parseId(id);
    if (name !== undefined && number !== undefined && !names.has(number)) names.set(number, name);
  }
  return names;
};

const memoize = <T>(compute: (rows: readonly (readonly string[])[]) => T) => {
  let key: readonly (readonly string[])[] | undefined;
  let value: T | undefined;
  return (rows: readonly (readonly string[])[]): T => {
    if (value === undefined || key !== rows) {
      key = rows;
      value = compute(rows);
    }
    return value;
  };
};

/** The accounts of the sandbox, read from its own files on each use. `root` exists even without a passwd file. */
export const createUsers = ({ passwdPath = '/etc/passwd', groupPath = '/etc/group' } = {}): Users => {
  const passwd = createAccountFile(passwdPath);
  const groupFile = createAccountFile(groupPath);
  const userNames = memoize(toNames);
  const groupNames = memoize(toNames);
  const findGroup = (name: string): number | undefined => {
    const row = groupFile.rows().find(([candidate]) => candidate === name);
    return parseId(row?.[2]) ?? (name === 'root' ? 0 : undefined);
  };
  return {
    get(text) {
      const [given = '', group] = text.split('/', 2);
      const refuse = (): never => {
        throw new ApiError('unauthenticated', `invalid username: '${text}'`);
      };
      const row = findRow(passwd.rows(), given) ?? refuse();
      const uid = parseId(row[2]) ?? refuse();
      const name = row[0] ?? given;
      const user = { name, uid, home: row[5]?.startsWith('/') ? row[5] : '/' };
      if (group !== undefined)
        return { ...user, gid: findGroup(group) ?? parseId(group) ?? refuse(), groups: [] };
      const gid = parseId(row[3]) ?? refuse();
      const groups = groupFile
        .rows()
        .filter(([, , , members]) => members?.split(',').includes(name))
        .map(([, , id]) => parseId(id))
        .filter((id) => id !== undefined && id !== gid);
      return { ...user, gid, groups: groups as number[] };
    },
    findGroup,
    names() {
      const [users, groups] = [userNames(passwd.rows()), groupNames(groupFile.rows())];
      return {
        userName: (uid) => users.get(uid) ?? (uid === 0 ? 'root' : String(uid)),
        groupName: (gid) => groups.get(gid) ?? (gid === 0 ? 'root' : String(gid)),
      };
    },
  };
};
