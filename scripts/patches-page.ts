import { basename } from 'node:path';

/** The parts of the heading of a file in a folder `workarounds/`, in their order; the last is optional. */
export const headingParts = [
  'Program',
  'Does',
  'Why not the promised way',
  'Source',
  'When it no longer fits',
  'Test',
  'Bench row',
] as const;

/**
 * Returns the parts of the heading that `source` begins with, each on one line, by name. A part that the heading lacks is
 * absent.
 */
export function parseHeading(source: string): Map<string, string> {
  const [comment = ''] = /^\/\*\*[\s\S]*?\*\//.exec(source) ?? [];
  const lines = comment
    .split('\n')
    .map((line) => line.replace(/^ ?\*\/?/, '').trim())
    .filter((line) => line !== '' && line !== '/**');
  const parts = new Map<string, string>();
  let current: string | undefined;
  for (const line of lines) {
    const started = headingParts.find((part) => line.startsWith(`${part}: `));
    current = started ?? current;
    if (current === undefined) continue;
    const text = started === undefined ? line : line.slice(started.length + 2);
    parts.set(current, [parts.get(current), text].filter(Boolean).join(' '));
  }
  return parts;
}

const introduction = `# Patches

The files in folders \`workarounds/\` lean on what the provider of a program or library does not promise: they change it, replace a
part of it, or use what it does not document. Each file names its reason, source and test in its heading. After an upgrade of one of
these programs, read its rows here. \`node scripts/write-patches-page.ts\` writes this page from the headings.
`;

/** Returns the page that lists all workarounds by the program that each depends on, from their sources by path. */
export function toPatchesPage(sources: ReadonlyMap<string, string>): string {
  const rows = [...sources].map(([path, source]) => ({ path, parts: parseHeading(source) }));
  const programs = [...new Set(rows.map(({ parts }) => parts.get('Program') ?? ''))].toSorted();
  const sections = programs.map((program) => {
    const lines = rows
      .filter(({ parts }) => parts.get('Program') === program)
      .map(
        ({ path, parts }) =>
          `- [${basename(path, '.ts')}](../${path}): ${parts.get('Does')}\n  **After an upgrade that breaks it:** ${parts.get('When it no longer fits')}\n`,
      );
    return `## ${program}\n\n${lines.join('')}`;
  });
  return [introduction, ...sections].join('\n');
}
