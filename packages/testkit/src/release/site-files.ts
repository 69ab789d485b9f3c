import { existsSync, globSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Browser, HTTPRequest, Page } from 'puppeteer-core';

/** The address of the site in a test. No server has it: what the browser requests is read from the folder. */
const origin = 'http://site.test';

const types: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
};

/** A static site in a folder. */
export interface SiteFiles {
  /** Paths of its pages, such as `/docs/pause.html`. */
  pages: string[];
  /** The path of the page that a link of a page leads to, and its anchor. Undefined for a link to another site. */
  follow(page: string, href: string): { path: string; id: string } | undefined;
  /** Opens a tab whose requests are answered from the folder. What was requested and is not there is added to `missing`. */
  open(browser: Browser, missing: string[]): Promise<Page>;
  toUrl(page: string): string;
}

/** Reads which pages there are. */
export function readSite(folder: string): SiteFiles {
  const answer = (request: HTTPRequest, missing: string[]): void => {
    const { protocol, origin: asked, pathname } = new URL(request.url());
    if (protocol === 'data:') return void request.continue();
    const file = join(folder, decodeURIComponent(pathname));
    const found = asked === origin && extname(file) !== '' && existsSync(file);
    if (!found) missing.push(request.url());
    void request.respond(
      found
        ? {
            status: 200,
            contentType: types[extname(file)] ?? 'application/octet-stream',
            body: readFileSync(file),
          }
        : { status: 404 },
    );
  };
  return {
    pages: globSync('**/*.html', { cwd: folder }).map((path) => `/${path}`),
    follow: (page, href) => {
      const url = new URL(href, `${origin}${page}`);
      if (url.origin !== origin) return undefined;
      const path = url.pathname.endsWith('/') ? `${url.pathname}index.html` : url.pathname;
      return { path, id: decodeURIComponent(url.hash.slice(1)) };
    },
    open: async (browser, missing) => {
      const page = await browser.newPage();
      await page.setRequestInterception(true);
      page.on('request', (request) => answer(request, missing));
      return page;
    },
    toUrl: (page) => `${origin}${page}`,
  };
}
