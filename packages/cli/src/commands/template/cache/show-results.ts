import type { CachedResult } from '@skerry/sdk/template';
import { printJsonLines, printLines } from '../../../output/print.ts';
import { toAge, toTable } from '../../../table.ts';

const HEAD = ['KEY', 'SIZE', 'USED', 'STEP'];
const MAX_STEP_LENGTH = 60;

/** Prints results: a table, or one JSON object or key a line. */
export function showResults(
  results: readonly CachedResult[],
  { json, quiet }: { json?: boolean | undefined; quiet?: boolean | undefined },
): void {
  if (json) printJsonLines(results);
  else if (quiet) printLines(results.map(({ key }) => key));
  else printLines(toTable(HEAD, results.map(toRow)));
}

const toRow = ({ key, sizeBytes, lastUsedAt, description }: CachedResult): string[] => [
  key,
  `${(sizeBytes / 2 ** 20).toFixed(1)} MiB`,
  toAge(Date.now() - +lastUsedAt),
  description.length > MAX_STEP_LENGTH ? `${description.slice(0, MAX_STEP_LENGTH)}…` : description,
];
