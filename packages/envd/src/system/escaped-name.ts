import { isUtf8 } from 'node:buffer';
import { lstatSync } from 'node:fs';
import { isErrno } from './errno.ts';

const BACKSLASH = 0x5c;

/**
 * The text of a name that is not UTF-8: each byte that belongs to no character stands as `\xff`, and a backslash as `\x5c`. The names
 * that are UTF-8 are shown as they are.
 */
export const escapeName = (name: Buffer): string => {
  let text = '';
  for (let at = 0; at < name.length; ) {
    const sizeBytes = [1, 2, 3, 4].find((size) => isUtf8(name.subarray(at, at + size))) ?? 0;
    const isPlain = sizeBytes > 0 && name[at] !== BACKSLASH && at + sizeBytes <= name.length;
    text += isPlain ? name.toString('utf8', at, at + sizeBytes) : `\\x${name.toString('hex', at, at + 1)}`;
    at += isPlain ? sizeBytes : 1;
  }
  return text;
};

/**
 * The path of what a caller names: a name with escapes as `escapeName` writes them, when nothing has the name as it is written, and
 * something has the other.
 */
export const unescapePath = (path: string): string | Buffer => {
  if (!/\\x[89a-f][0-9a-f]/.test(path) || isThere(path)) return path;
  const text = Buffer.from(path).toString('latin1');
  const bytes = text.replace(/\\x(5c|[89a-f][0-9a-f])/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  const unescaped = Buffer.from(bytes, 'latin1');
  return isThere(unescaped) ? unescaped : path;
};

const isThere = (path: string | Buffer): boolean => {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (isErrno(error)) return false;
    throw error;
  }
};
