import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** What every tested release offers: programs written against the oldest one are what must keep running. */
export type E2b = typeof import('e2b-oldest');
/** What the newest one offers on top. */
export type NewestE2b = typeof import('e2b-newest');

export interface TestedClient {
  readonly version: string;
  /** Whether it can be told to use one plain address. Those that cannot know only `https` and host names. */
  readonly takesUrls: boolean;
  readonly generation: 'oldest' | 'middle' | 'newest';
  /** Imports it as a program does; what it exports depends on the release. */
  load(): Promise<unknown>;
}

/** The releases of the npm package `e2b` that are driven against skerry, oldest first. */
export const testedClients: readonly TestedClient[] = [
  {
    generation: 'oldest',
    version: versionOf('e2b-oldest'),
    takesUrls: false,
    load: () => import('e2b-oldest'),
  },
  {
    generation: 'middle',
    version: versionOf('e2b-middle'),
    takesUrls: true,
    load: () => import('e2b-middle'),
  },
  {
    generation: 'newest',
    version: versionOf('e2b-newest'),
    takesUrls: true,
    load: () => import('e2b-newest'),
  },
];

function versionOf(name: string): string {
  const path = createRequire(import.meta.url).resolve(`${name}/package.json`);
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
