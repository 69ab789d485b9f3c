// PostgreSQL refuses U+0000 in texts (22021), which SQLite stores. It is written as two characters that begin with one of
// the private use area, and that one is doubled.
const MARK = '\uE000';
const NUL = '\u0000';

/** The form of a parameter in which it can be stored. Other values than texts stay. */
export const toStored = (value: unknown): unknown =>
  typeof value === 'string' && (value.includes(NUL) || value.includes(MARK))
    ? value.replaceAll(MARK, MARK + MARK).replaceAll(NUL, `${MARK}0`)
    : value;

/** What `toStored` was called with. */
export const fromStored = (value: unknown): unknown =>
  typeof value === 'string' && value.includes(MARK)
    ? value.replaceAll(/\uE000([0\uE000])/g, (_all, next) => (next === '0' ? NUL : MARK))
    : value;
