import { readFileSync } from 'node:fs';

/** The limit that child processes inherit: a container engine raises it by itself, which a host may refuse. */
export function openFilesLimit(): number {
  const limit = /^Max open files +\d+ +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  return limit === undefined ? 1_048_576 : Number(limit);
}
