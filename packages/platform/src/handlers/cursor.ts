import { invalid } from '@skerry/contract/error';

export type Order = 'asc' | 'desc';

/** Where a page ended. */
export interface Position {
  startedAt: number;
  id: string;
}

/** The opaque text of a position. It contains the order, so it cannot be used in the other direction. */
export const toCursor = ({ startedAt, id }: Position, order: Order): string =>
  Buffer.from(`${order}:${startedAt}:${id}`).toString('base64url');

const form = /^(asc|desc):(\d{1,15}):([a-z0-9]{1,40})$/;

/** Throws `invalid_argument` for text that `toCursor` did not make, or made for the other order. */
export const parseCursor = (text: string, order: Order): Position => {
  const [, madeFor, startedAt, id] = form.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];
  if (madeFor === undefined || startedAt === undefined || id === undefined) {
    throw invalid('query.nextToken was not issued by this server');
  }
  if (madeFor !== order) throw invalid(`query.nextToken belongs to order "${madeFor}", not "${order}"`);
  return { startedAt: Number(startedAt), id };
};
