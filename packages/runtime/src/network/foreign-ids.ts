import { readFile } from 'node:fs/promises';

/** Ids of the host that belong to something else than sandboxes. */
export interface IdRange {
  first: number;
  count: number;
}

const files = ['/etc/subuid', '/etc/subgid'];

/** What subuid(5) and subgid(5) give to users of this host, for containers of theirs. A host may have neither file. */
export async function readForeignIds(paths: readonly string[] = files): Promise<IdRange[]> {
  const texts = await Promise.all(
    paths.map((path) =>
      readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        // What cannot be read may list what a sandbox must not have.
        if (error.code !== 'ENOENT') throw error;
        return '';
      }),
    ),
  );
  return texts.flatMap(parseIdRanges);
}

function parseIdRanges(text: string): IdRange[] {
  return text.split('\n').flatMap((line) => {
    const [, first, count] = line.trim().split(':');
    const range = { first: Number(first), count: Number(count) };
    return Number.isInteger(range.first) && Number.isInteger(range.count) ? [range] : [];
  });
}

export const overlapsAny = ({ first, count }: IdRange, ranges: readonly IdRange[]): boolean =>
  ranges.some((other) => first < other.first + other.count && other.first < first + count);
