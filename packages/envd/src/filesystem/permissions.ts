import { constants } from 'node:fs';

const TYPES: Readonly<Record<number, string>> = {
  [constants.S_IFDIR]: 'd',
  [constants.S_IFLNK]: 'L',
  [constants.S_IFBLK]: 'D',
  [constants.S_IFCHR]: 'Dc',
  [constants.S_IFIFO]: 'p',
  [constants.S_IFSOCK]: 'S',
};

/** Bits above the nine, each with the letter that the protocol puts in front of them. */
const SPECIAL: readonly (readonly [number, string])[] = [
  [0o4000, 'u'],
  [0o2000, 'g'],
  [0o1000, 't'],
];

const compose = (mode: number): string => {
  const special = SPECIAL.filter(([bit]) => (mode & bit) !== 0).map(([, letter]) => letter);
  const prefix = `${TYPES[mode & constants.S_IFMT] ?? ''}${special.join('')}`;
  const bits = Array.from('rwxrwxrwx', (letter, at) => ((mode >> (8 - at)) & 1 ? letter : '-'));
  return `${prefix === '' ? '-' : prefix}${bits.join('')}`;
};

/** A mode has sixteen bits, and most files have one of a few. */
const known = new Map<number, string>();

/** The text form of a mode: `-rw-r--r--`, `drwxr-xr-x`, `Lrwxrwxrwx`, `dtrwxrwxrwx`. */
export const toPermissions = (mode: number): string => {
  let text = known.get(mode);
  if (text === undefined) {
    text = compose(mode);
    known.set(mode, text);
  }
  return text;
};
