/** How each line of a log begins that reports an answer which the document does not declare. */
export const UNDECLARED = 'UNDECLARED';

/** Throws when a server whose answers were checked sent one that the document does not declare. */
export function refuseUndeclared(log: string): void {
  const lines = new Set(log.split('\n').filter((line) => line.startsWith(UNDECLARED)));
  if (lines.size > 0) throw new Error(`answers that specs/openapi.yaml lacks:\n${[...lines].join('\n')}`);
}
