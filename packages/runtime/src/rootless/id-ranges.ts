/** The number of subordinate ids that a user needs: one range for root and the users inside of sandboxes. */
export const neededIds = 65_536;

/**
 * The first range of at least `neededIds` that subuid(5) or subgid(5) text assigns to a user, by name or number.
 * Undefined when there is none.
 */
export function findIdRange(text: string, user: { name: string; uid: number }): number | undefined {
  for (const line of text.split('\n')) {
    const [owner, first, count] = line.trim().split(':');
    const isHis = owner === user.name || owner === String(user.uid);
    if (isHis && Number(count) >= neededIds) return Number(first);
  }
  return undefined;
}

const lowestId = 100_000;

/** The start of a range that overlaps with none of the text's. */
export function toFreeRange(text: string): number {
  const ends = text.split('\n').map((line) => {
    const [, first, count] = line.trim().split(':');
    return Number(first) + Number(count);
  });
  return Math.max(lowestId, ...ends.filter(Number.isInteger));
}
