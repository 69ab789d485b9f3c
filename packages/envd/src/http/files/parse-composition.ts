import { invalid } from '@skerry/contract/error';

/** The body of `POST /files/compose`. Paths are as the caller wrote them. */
export interface Composition {
  /** The paths of the files to join; at least one. */
  sourcePaths: string[];
  destination: string;
  username: string | undefined;
}

const parseText = (value: unknown, field: string): string => {
  if (typeof value !== 'string' || value === '') throw invalid(`${field} must be a string that is not empty`);
  return value;
};

/** Throws `invalid_argument` with the name of the field. */
export const parseComposition = (body: unknown): Composition => {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid('body must be an object');
  const { source_paths: sources, destination, username } = body as Record<string, unknown>;
  if (!Array.isArray(sources) || sources.length === 0)
    throw invalid('source_paths must be an array of at least one path');
  if (username !== undefined && typeof username !== 'string') throw invalid('username must be a string');
  return {
    sourcePaths: sources.map((path, index) => parseText(path, `source_paths[${index}]`)),
    destination: parseText(destination, 'destination'),
    username: username || undefined,
  };
};
