import { invalid } from '@skerry/contract/error';

/** What becomes of the mode of an entry. */
export type ChangeMode = (mode: number, isFolder: boolean) => number;

interface Change {
  /** The bits that a clause is about. */
  who: number;
  /** Whether the clause names no class, and so leaves alone what the mask of new files (umask) has. */
  isMasked: boolean;
  operator: string;
  rights: string;
}

const ALL = 0o7777;
const UMASK = 0o022;
const bits: Readonly<Record<string, number>> = { u: 0o4700, g: 0o2070, o: 0o1007, a: ALL };
/** The rights of the three, wherever they are. */
const rightBits: Readonly<Record<string, number>> = { r: 0o444, w: 0o222, x: 0o111, s: 0o6000, t: 0o1000 };
const shifts: Readonly<Record<string, number>> = { u: 6, g: 3, o: 0 };

/** Parses a mode: octal, which replaces that of each entry, or symbolic as in chmod(1), which changes it. Throws `invalid_argument`. */
export const parseMode = (text: string): ChangeMode => {
  if (/^[0-7]{1,5}$/.test(text) && Number.parseInt(text, 8) <= ALL) {
    const mode = Number.parseInt(text, 8);
    return () => mode;
  }
  const changes = text.split(',').flatMap((clause) => parseClause(clause, text));
  return (mode, isFolder) => changes.reduce((before, change) => apply(before, change, isFolder), mode);
};

const parseClause = (clause: string, text: string): Change[] => {
  const [, names = '', actions] = /^([ugoa]*)((?:[-+=](?:[rwxXst]*|[ugo]))+)$/.exec(clause) ?? [];
  if (actions === undefined)
    throw invalid(
      `a mode must be octal up to 07777, or symbolic as u=rwX,go=rX, got ${JSON.stringify(text)}`,
    );
  const who = (names || 'a').split('').reduce((sum, name) => sum | (bits[name] ?? 0), 0);
  return [...actions.matchAll(/([-+=])([rwxXst]*|[ugo])(?=[-+=]|$)/g)].map(
    ([, operator = '', rights = '']) => ({
      who,
      isMasked: names === '',
      operator,
      rights,
    }),
  );
};

const apply = (mode: number, { who, isMasked, operator, rights }: Change, isFolder: boolean): number => {
  const wanted = toBits(rights, mode, isFolder) & who & (isMasked ? ALL & ~UMASK : ALL);
  if (operator === '+') return mode | wanted;
  if (operator === '-') return mode & ~wanted;
  return (mode & ~who) | wanted;
};

const toBits = (rights: string, mode: number, isFolder: boolean): number => {
  const shift = shifts[rights];
  if (shift !== undefined) return ((mode >> shift) & 7) * 0o111;
  const isRunnable = isFolder || (mode & 0o111) !== 0;
  return rights
    .split('')
    .reduce((sum, right) => sum | (right === 'X' ? (isRunnable ? 0o111 : 0) : (rightBits[right] ?? 0)), 0);
};
