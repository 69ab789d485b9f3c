import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export interface Changeset {
  file: string;
  /** Package → `major`, `minor` or `patch`. */
  bumps: Record<string, string>;
  text: string;
}

/** Reads one changeset: YAML between two lines of dashes, then text. Throws on anything else. */
export function parseChangeset(file: string, content: string): Changeset {
  const [, head, text] = /^---\n([\s\S]*?)^---\n([\s\S]*)$/m.exec(content) ?? [];
  if (head === undefined || text === undefined) throw new Error(`${file} is no changeset`);
  return { file, bumps: (parse(head) ?? {}) as Record<string, string>, text: text.trim() };
}

/** The changesets that wait for the next release. */
export function readChangesets(root: string): Changeset[] {
  const folder = join(root, '.changeset');
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .map((file) => parseChangeset(file, readFileSync(join(folder, file), 'utf8')));
}

/** Whether a changeset may announce breaking changes of a package at this version: as minor before 1.0, then as major only. */
export function mayBreak({ bumps }: Changeset, version: string): boolean {
  const allowed = version.startsWith('0.') ? ['minor', 'major'] : ['major'];
  return Object.values(bumps).some((bump) => allowed.includes(bump));
}
