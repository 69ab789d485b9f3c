import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { referenceFolder, references } from '../reference/pages.ts';

/** The root of the repository, where the pages are. */
export const repository = join(import.meta.dirname, '../..');

/** A section of `llms.txt` and its pages, in order. Paths are relative to the repository. */
interface Section {
  title: string;
  pages: { title: string; path: string }[];
}

/** The pages of the site are those that `llms.txt` lists, and in place of what the reference is generated from, that. */
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

/** The file that vitepress renders for a page. */
export const toFile = (path: string): string => {
  const reference = references.get(path);
  return reference === undefined ? path : `${referenceFolder}/${reference}.md`;
};

const files = new Set([...pagePaths].map(toFile));

/** Markdown files that vitepress must not render. */
export const otherFiles: string[] = globSync('**/*.md', {
  cwd: repository,
  exclude: ['**/node_modules/**', '**/.*/**'],
}).filter((path) => !files.has(path));

/** Where a page is on the site: the README of a folder is its index. */
export const toSitePath = (path: string): string => {
  const reference = references.get(path);
  return reference === undefined ? path.replace(/README\.md$/, 'index.md') : `reference/${reference}.md`;
};
