import { PLACED_STATES } from '../rows.ts';
import type { Database } from '../schema.ts';
import type { QuotaExceeded, QuotaKind } from './quota-rows.ts';

const placedOf = (db: Database, keyId: string) =>
  db.selectFrom('sandboxes').where('keyId', '=', keyId).where('state', 'in', PLACED_STATES);

/** The earliest time at which running sandboxes of a key have ended that have so much of what is limited. */
const findFreeAt = async (
  db: Database,
  keyId: string,
  { kind, excess }: { kind: QuotaKind; excess: number },
): Promise<number | null> => {
  const running = await placedOf(db, keyId)
    .where('state', '=', 'running')
    .select(['endAt', 'memoryMb'])
    .orderBy('endAt')
    .execute();
  let freed = 0;
  for (const { endAt, memoryMb } of running) {
    freed += kind === 'sandboxes' ? 1 : memoryMb;
    if (freed >= excess) return endAt;
  }
  return null;
};

/** Returns the first limit of a key that another sandbox would exceed. A key keeps its limits when it is revoked. */
export const findExceeded = async (
  db: Database,
  { keyId, memoryMb }: { keyId: string | null; memoryMb: number },
): Promise<QuotaExceeded | undefined> => {
  if (keyId === null) return undefined;
  const key = await db
    .selectFrom('apiKeys')
    .select(['name', 'project', 'limits'])
    .where('id', '=', keyId)
    .executeTakeFirst();
  if (key === undefined || Object.keys(key.limits).length === 0) return undefined;
  const placed = await placedOf(db, keyId)
    .select(({ fn }) => [fn.countAll().as('count'), fn.sum<number | null>('memoryMb').as('memoryMb')])
    .executeTakeFirstOrThrow();
  const amounts = {
    sandboxes: { used: Number(placed.count), needed: 1 },
    memoryMb: { used: Number(placed.memoryMb ?? 0), needed: memoryMb },
  };
  for (const [kind, { used, needed }] of Object.entries(amounts) as [
    QuotaKind,
    (typeof amounts)[QuotaKind],
  ][]) {
    const max = key.limits[kind];
    if (max === undefined || used + needed <= max) continue;
    const freeAt = needed > max ? null : await findFreeAt(db, keyId, { kind, excess: used + needed - max });
    return { kind, keyName: key.name, project: key.project, max, used, needed, freeAt };
  }
  return undefined;
};
