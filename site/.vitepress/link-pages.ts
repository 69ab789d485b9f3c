import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { referenceFolder } from '../reference/pages.ts';
import { pagePaths, repository, toSitePath } from './pages.ts';

/**
 * Makes links between pages fit the site. In the repository a link may lead to a folder, whose README is shown, or to
 * a file that is no page: the latter becomes plain text here.
 */
export const linkPages = (markdown: MarkdownRenderer): void => {
  markdown.core.ruler.push('link-pages', ({ tokens, env }) => {
    const { realPath, path } = env as { realPath?: string; path: string };
    const file = relative(repository, realPath ?? path);
    // A page of the reference has the links of the site already.
    if (file.startsWith(referenceFolder)) return;
    const folder = dirname(file);
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href === null || /^(\w+:|#)/.test(href)) continue;
      const [target = '', anchor] = href.split('#');
      const page = findPage(join(folder, decodeURI(target)));
      if (page === undefined) token.attrs = [];
      else token.attrSet('href', `/${toSitePath(page)}${anchor === undefined ? '' : `#${anchor}`}`);
    }
  });
};

/** The page at a path of the repository, or of the folder there. */
const findPage = (path: string): string | undefined => {
  if (pagePaths.has(path)) return path;
  const full = join(repository, path);
  if (!existsSync(full)) throw new Error(`${path} is linked and does not exist`);
  const readme = join(path, 'README.md');
  return statSync(full).isDirectory() && pagePaths.has(readme) ? readme : undefined;
};
