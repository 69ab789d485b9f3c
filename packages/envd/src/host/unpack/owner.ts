import { invalid } from '@skerry/contract/error';
import type { Users } from '../../system/users.ts';

/** The owner of new files, as numbers. */
export interface Owner {
  uid: number;
  gid: number;
}

/** One less than the "unchanged" of chown(2). */
export const MAX_ID = 2 ** 32 - 2;

const parseId = (text: string): number | undefined => {
  if (!/^\d{1,10}$/.test(text)) return undefined;
  if (Number(text) > MAX_ID) throw invalid(`the id ${text} is out of range`);
  return Number(text);
};

/**
 * Parses `user` or `user:group`, each a name or a number. Without a group it is that of the user, and for a number the
 * same number. Throws `unauthenticated` for an unknown user and `invalid_argument` for an unknown group.
 */
export const parseOwner = (text: string, users: Users): Owner => {
  const colon = text.indexOf(':');
  const user = colon === -1 ? text : text.slice(0, colon);
  const group = colon === -1 ? undefined : text.slice(colon + 1);
  const id = parseId(user);
  const { uid, gid } = id === undefined ? users.get(user) : { uid: id, gid: id };
  if (group === undefined) return { uid, gid };
  const found = parseId(group) ?? users.findGroup(group);
  if (found === undefined) throw invalid(`invalid group: '${group}'`);
  return { uid, gid: found };
};
