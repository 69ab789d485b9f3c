/** The head and the rows of a table, with the node of each row in a column of its own where there are nodes. */
export const withNodeColumn = <T extends { node?: string }>(
  all: readonly T[],
  { head, toRow }: { head: string[]; toRow: (one: T) => string[] },
): [head: string[], rows: string[][]] =>
  all.some(({ node }) => node !== undefined)
    ? [['NODE', ...head], all.map((one) => [one.node ?? '-', ...toRow(one)])]
    : [head, all.map(toRow)];
