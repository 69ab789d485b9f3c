import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The root of the repository, where the pages are. */
export const repository = join(import.meta.dirname, '../..');

/** A section of `llms.txt` and its pages, in order. Paths are relative to the repository. */
interface Section {
  title: string;
  pages: { title: string; path: string }[];
}

/** The pages of the site are those that `llms.txt` lists. */
export const sections: Section[] = readFileSync(join(repository, 'llms.txt'), 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((text) => ({
    title: text.slice(0, text.indexOf('\n')),
    pages: [...text.matchAll(/^- \[(.+?)\]\((.+?)\)/gm)].map(([, title = '', path = '']) => ({
      title,
      path,
    })),
  }));

export const pagePaths = new Set(sections.flatMap(({ pages }) => pages.map(({ path }) => path)));

/** Markdown files that are no pages. */
export const otherFiles: string[] = globSync('**/*.md', {
  cwd: repository,
  exclude: ['**/node_modules/**', '**/.*/**'],
}).filter((path) => !pagePaths.has(path));

/** Where a page is on the site: the README of a folder is its index. */
export const toSitePath = (path: string): string => path.replace(/README\.md$/, 'index.md');
