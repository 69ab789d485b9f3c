import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const pages = [
  'README.md',
  'SCOPE.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'llms.txt',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
  ...['cli', 'sdk', 'platform-client', 'envd-client'].map((name) => `packages/${name}/README.md`),
];

const linksOf = (page: string): string[] => {
  const prose = readFileSync(page, 'utf8').replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^\w+:/.test(link));
};

/** The name that a heading has in a link to it. */
const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

/** The names of places that a page gives itself, beside its headings. */
const ownAnchorsOf = (page: string): string[] =>
  [...readFileSync(page, 'utf8').matchAll(/<a id="([^"]+)">/g)].map(([, name = '']) => name);

const anchorsOf = (page: string): string[] => [
  ...[...readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => toAnchor(heading)),
  ...ownAnchorsOf(page),
];

describe('the pages', () => {
  it.each(pages)('link from %s to files and headings that exist', (page) => {
    const broken = linksOf(page).filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      if (!existsSync(target)) return true;
      // GitHub shows the page of a folder.
      const shown = statSync(target).isDirectory() ? join(target, 'README.md') : target;
      return anchor !== undefined && !anchorsOf(shown).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('name source files of the repository that exist', () => {
    const files = globSync('{*,{bench,deploy,examples,packages,scripts,site,specs}/**/*}', {
      exclude: (name) => name === 'node_modules' || name === 'dist',
    });
    // `x.test.ts`, `NAME.driver.test.ts` and `NOUN/VERB.ts` stand for many files.
    const isPattern = (path: string): boolean => /^x[.-]|[A-Z]{4}/.test(path);
    const missing = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/security.md'].flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(/`([\w@./-]+\.(?:ts|mjs|proto))`/g)]
        .map(([, path = '']) => path)
        .filter((path) => !isPattern(path) && !files.some((file) => `/${file}`.endsWith(`/${path}`)))
        .map((path) => `${page}: ${path}`),
    );
    expect(missing).toEqual([]);
  });

  it('link from docs/security.md to each limit in SCOPE.md that is marked as one for safety', () => {
    const marked = ownAnchorsOf('SCOPE.md');
    const linked = linksOf('docs/security.md').flatMap(
      (link) => /^\.\.\/SCOPE\.md#(.+)$/.exec(link)?.[1] ?? [],
    );
    expect(marked).toHaveLength(new Set(marked).size);
    expect(marked.length).toBeGreaterThan(0);
    expect(marked.filter((name) => !linked.includes(name))).toEqual([]);
  });

  it.each(['README.md', 'packages/cli/README.md', 'llms.txt'])(
    'say on the first screen of %s what the default level is for, and how to run hostile code',
    (page) => {
      const [firstScreen = ''] = readFileSync(page, 'utf8').split(/^## /m);
      expect(firstScreen.replaceAll(/\s+/g, ' ')).toContain(
        'The default isolation level, `container`, is for code of your own or your team; for hostile code, start with `skerry up --isolation gvisor`, ' +
          "or create the sandbox with `isolation: 'gvisor'` (`--isolation gvisor` of `skerry create` and `skerry run`).",
      );
    },
  );

  it('name each class of errors of the SDK in its README', () => {
    const reports = ['surface.api.md', 'surface-template.api.md'].map((name) =>
      readFileSync(`packages/sdk/${name}`, 'utf8'),
    );
    const classes = reports.flatMap((report) =>
      [...report.matchAll(/^export class (\w+Error) /gm)].map(([, name = '']) => name),
    );
    const readme = readFileSync('packages/sdk/README.md', 'utf8');
    expect(classes.length).toBeGreaterThan(0);
    expect(classes.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
  });

  it('are all listed in llms.txt', () => {
    const listed = linksOf('llms.txt');
    expect(pages.filter((page) => page !== 'llms.txt' && !listed.includes(page))).toEqual([]);
  });
});
