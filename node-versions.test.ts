import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const readEngines = (folder: string): string | undefined =>
  (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { engines?: { node: string } }).engines
    ?.node;

/** What the table of docs/hosts.md says: what runs → the range of versions, as npm writes it. */
function readTable(): [subject: string, range: string][] {
  const page = readFileSync('docs/hosts.md', 'utf8');
  const [, section = ''] = /^### Node\.js\n([\s\S]*?)\n#/m.exec(page) ?? [];
  return [...section.matchAll(/^\| (\S.*?) +\| `([^`]*\d[^`]*)` +\|$/gm)].map(
    ([, subject = '', range = '']) => [subject, range.replaceAll('\\', '')],
  );
}

describe('the versions of Node.js', () => {
  it('are in one table, equal to engines of each package that is published and of a clone', () => {
    const [command, ...libraries] = ['cli', 'sdk', 'platform-client', 'envd-client'].map((name) =>
      readEngines(join('packages', name)),
    );
    expect(new Set(libraries).size).toBe(1);
    expect(readTable().map(([, range]) => range)).toEqual([command, libraries[0], readEngines('.')]);
  });

  it.each(globSync(['*.md', 'docs/**/*.md', 'packages/*/README.md', 'examples/*.md']))(
    'are those of the table where %s names a minimum',
    (page) => {
      const minimums = readTable().map(([, range]) => /\d+(?:\.\d+)?$/.exec(range)?.[0]);
      const named = [
        ...readFileSync(page, 'utf8').matchAll(
          /Node(?:\.js)? (?:[≥>]=? ?([\d.]+\d|\d+)|([\d.]+\d|\d+) or (?:later|newer))/g,
        ),
      ].map(([, sign, word]) => sign ?? word);
      expect(named.filter((version) => !minimums.includes(version))).toEqual([]);
    },
  );

  it.each([
    { page: 'README.md', minimums: ['Node.js 18 or later', 'Node.js 24 or later'] },
    { page: 'docs/guides/first-day.md', minimums: ['Node.js 24 or later'] },
    { page: 'packages/cli/README.md', minimums: ['Node.js 24 or later'] },
    { page: 'CONTRIBUTING.md', minimums: ['Node.js 18 or later'] },
  ])('are named by $page', ({ page, minimums }) => {
    const text = readFileSync(page, 'utf8');
    expect(minimums.filter((minimum) => !text.includes(minimum))).toEqual([]);
  });
});
