/** The entries of a log that a caller asks for, by time. */
export interface LogPage {
  order: 'asc' | 'desc';
  /** The millisecond to start at, inclusive; by default the oldest or the newest, by the order. */
  cursor?: number | undefined;
  /**
   * A page has more entries where its last millisecond would be incomplete, or be that of the cursor: callers continue at
   * the time of an entry, and would otherwise miss some, or get one page for ever. 0 is an empty page.
   */
  limit: number;
}

/** A part of a log by time; both ends are included. */
export interface LogRange {
  from?: number;
  to?: number;
  limit?: number;
}

/** Reads one page by `read`, which resolves with the entries of a part of the log in the order of the page. */
export const readLogPage = async <Row extends { at: number }>(
  { order, cursor, limit }: LogPage,
  read: (range: LogRange) => Promise<Row[]>,
): Promise<Row[]> => {
  if (limit === 0) return [];
  const readBetween = (start?: number, end?: number, most?: number): Promise<Row[]> => {
    const [from, to] = order === 'asc' ? [start, end] : [end, start];
    return read({
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      ...(most !== undefined && { limit: most }),
    });
  };
  const rows = await readBetween(cursor, undefined, limit + 1);
  const [last, next] = [rows[limit - 1], rows[limit]];
  if (last === undefined || next === undefined) return rows;
  if (last.at !== cursor) return last.at === next.at ? readBetween(cursor, last.at) : rows.slice(0, limit);
  const [beyond] = await readBetween(order === 'asc' ? cursor + 1 : cursor - 1, undefined, 1);
  return readBetween(cursor, beyond?.at ?? cursor);
};
