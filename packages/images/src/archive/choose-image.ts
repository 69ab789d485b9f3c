import { ImageError } from '../image-error.ts';
import { toCanonical } from '../oci/reference.ts';

/** One image of an archive, or one of its indexes. */
export interface ArchiveEntry<T> {
  /** The names in the archive: repositories with tags, or tags alone. */
  names: readonly string[];
  digest: string;
  image: T;
}

/** Messages are for the client. */
const MAX_LIST_LENGTH = 2_000;

/**
 * The image that has the name or the digest `wanted`; without it the only one. A name counts as it is written and as a reference, where
 * `app` is `docker.io/library/app:latest`. Throws `unsuitable_image` with the names of all when there is not just one.
 */
export function chooseImage<T>(entries: readonly ArchiveEntry<T>[], wanted: string | undefined): T {
  const found = wanted === undefined ? entries : entries.filter((entry) => isNamed(entry, wanted));
  const [first] = found;
  if (first !== undefined && found.every(({ digest }) => digest === first.digest)) return first.image;
  if (found.length > 0)
    throw new ImageError(
      'unsuitable_image',
      `the archive has several images${wanted === undefined ? '' : ` of that name`}, choose one: ${toList(found)}`,
    );
  throw new ImageError(
    'unsuitable_image',
    `the archive has no image ${JSON.stringify(wanted)}, but ${toList(entries)}`,
  );
}

function isNamed({ names, digest }: ArchiveEntry<unknown>, wanted: string): boolean {
  if (digest === wanted || names.includes(wanted)) return true;
  const reference = toReference(wanted);
  return reference !== undefined && names.some((name) => toReference(name) === reference);
}

/** Undefined for what is none. */
function toReference(name: string): string | undefined {
  try {
    return toCanonical(name);
  } catch {
    return undefined;
  }
}

function toList(entries: readonly ArchiveEntry<unknown>[]): string {
  const names = entries.flatMap((entry) => (entry.names.length > 0 ? entry.names : [entry.digest]));
  return [...new Set(names)].join(', ').slice(0, MAX_LIST_LENGTH);
}
