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
  /** Throws `unauthenticated` when the sandbox has no such user. */
  get(name: string): User;
  /** The id of a group; undefined when the sandbox has no such group. `root` exists even without a group file. */
  findGroup(name: string): number | undefined;
  /** As they are now. Who asks for many names takes one of these: each looks at the files. */
  names(): AccountNames;
}

const ROOT: readonly string[] = ['root', 'x', '0', '0', 'root', '/root', ''];

const parseId = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;

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
  const group = createAccountFile(groupPath);
  const userNames = memoize(toNames);
  const groupNames = memoize(toNames);
  return {
    get(name) {
      const row =
        passwd.rows().find(([candidate]) => candidate === name) ?? (name === 'root' ? ROOT : undefined);
      const uid = parseId(row?.[2]);
      const gid = parseId(row?.[3]);
      if (row === undefined || uid === undefined || gid === undefined) {
        throw new ApiError('unauthenticated', `invalid username: '${name}'`);
      }
      const groups = group
        .rows()
        .filter(([, , , members]) => members?.split(',').includes(name))
        .map(([, , id]) => parseId(id))
        .filter((id) => id !== undefined && id !== gid);
      return { name, uid, gid, home: row[5]?.startsWith('/') ? row[5] : '/', groups: groups as number[] };
    },
    findGroup(name) {
      const row = group.rows().find(([candidate]) => candidate === name);
      return parseId(row?.[2]) ?? (name === 'root' ? 0 : undefined);
    },
    names() {
      const [users, groups] = [userNames(passwd.rows()), groupNames(group.rows())];
      return {
        userName: (uid) => users.get(uid) ?? (uid === 0 ? 'root' : String(uid)),
        groupName: (gid) => groups.get(gid) ?? (gid === 0 ? 'root' : String(gid)),
      };
    },
  };
};
