import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { linkPages } from './link-pages.ts';
import { otherFiles, pagePaths, sections, toFile, toSitePath } from './pages.ts';

/** The site of the documentation: `pnpm run docs` builds it into `site/dist`. A link to a missing page fails the build. */
export default defineConfig({
  title: 'skerry',
  description: 'Isolated Linux sandboxes on your own machine',
  // There is no icon, and browsers do not ask for one.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: '..',
  outDir: 'dist',
  cacheDir: '../node_modules/.cache/site',
  srcExclude: ['**/node_modules/**', ...otherFiles],
  rewrites: Object.fromEntries([...pagePaths].map((path) => [toFile(path), toSitePath(path)])),
  markdown: { config: linkPages },
  // The pages are outside of this package, and so would not find it.
  vite: { resolve: { alias: { vue: join(import.meta.dirname, '../node_modules/vue') } } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: sections.map(({ title, pages }) => ({
      text: title,
      items: pages.map((page) => ({ text: page.title, link: `/${toSitePath(page.path)}` })),
    })),
  },
});
