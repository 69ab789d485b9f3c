// The site of the documentation, built as `pnpm run docs` does, in headless Chromium.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import puppeteer, { type Browser } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workspaceRoot } from '../workspace/workspace-copy.ts';
import { readSite, type SiteFiles } from './site-files.ts';

const chromium = ['chromium', 'chromium-browser', 'google-chrome']
  .flatMap((name) => (process.env.PATH ?? '').split(':').map((folder) => join(folder, name)))
  .find((path) => existsSync(path));
/** A window of a desk and one of a telephone. */
const widths = [1280, 390];

interface Shown {
  page: string;
  ids: string[];
  hrefs: string[];
  /** What is wrong with the page as it is shown. */
  faults: string[];
}

let site: SiteFiles;
beforeAll(() => {
  const { status, stderr } = spawnSync('pnpm', ['run', 'docs'], { cwd: workspaceRoot, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  site = readSite(join(workspaceRoot, 'site/dist'));
});

it('has the pages that llms.txt lists', () => {
  const listed = [...readFileSync(join(workspaceRoot, 'llms.txt'), 'utf8').matchAll(/^- \[/gm)];
  // And one for an address that has none.
  expect(site.pages).toHaveLength(listed.length + 1);
});

it.each([
  ['sdk', 'surface.api.md'],
  ['sdk-template', 'surface-template.api.md'],
])('has a heading for each export on the page %s', (page, report) => {
  const exported = readFileSync(join(workspaceRoot, 'packages/sdk', report), 'utf8');
  const names = [
    ...exported.matchAll(/^export (?:abstract )?(?:class|const|function|interface|type) (\w+)/gm),
  ];
  const text = readFileSync(join(workspaceRoot, `site/generated/reference/${page}.md`), 'utf8');
  const headings = new Set([...text.matchAll(/^### (\w+)/gm)].map(([, name]) => name));
  expect(names.length).toBeGreaterThan(20);
  expect(names.map(([, name]) => name).filter((name) => !headings.has(name))).toEqual([]);
});

describe.skipIf(chromium === undefined)('in Chromium', () => {
  let browser: Browser;
  let shown: Shown[];
  beforeAll(async () => {
    browser = await puppeteer.launch({ executablePath: chromium ?? '', args: ['--no-sandbox'] });
    shown = await Promise.all(toShares(site.pages, 2).map(showPages)).then((shares) => shares.flat());
  });
  afterAll(() => browser.close());

  /** Shows pages one after another in a tab. */
  async function showPages(pages: string[]): Promise<Shown[]> {
    const faults: string[] = [];
    const tab = await site.open(browser, faults);
    tab.on('pageerror', (error) => faults.push(String(error)));
    const results: Shown[] = [];
    for (const page of pages) {
      faults.length = 0;
      for (const width of widths) {
        await tab.setViewport({ width, height: 900 });
        await tab.goto(site.toUrl(page), { waitUntil: 'networkidle0' });
        faults.push(...(await tab.evaluate(findFaults)).map((fault) => `${width} wide: ${fault}`));
      }
      results.push({ page, faults: [...faults], ...(await tab.evaluate(readLinks)) });
    }
    return results;
  }

  it('shows each page within the window, with its title, its pictures and nothing missing', () => {
    expect(
      shown.filter(({ faults }) => faults.length > 0).map(({ page, faults }) => ({ page, faults })),
    ).toEqual([]);
  });

  it('has no link to a page or a heading that is missing', () => {
    const ids = new Map(shown.map((one) => [one.page, new Set(one.ids)]));
    const broken = shown.flatMap(({ page, hrefs }) =>
      hrefs
        .filter((href) => {
          const target = site.follow(page, href);
          if (target === undefined) return false;
          return !ids.has(target.path) || (target.id !== '' && ids.get(target.path)?.has(target.id) !== true);
        })
        .map((href) => `${page}: ${href}`),
    );
    expect(broken).toEqual([]);
    expect(shown.flatMap(({ hrefs }) => hrefs).length).toBeGreaterThan(1000);
  });
});

const toShares = <T>(items: readonly T[], count: number): T[][] =>
  Array.from({ length: count }, (_, share) => items.filter((_item, at) => at % count === share));

/** Runs in the page. */
function findFaults(): string[] {
  const { scrollWidth } = document.documentElement;
  const pictures = [...document.images].filter(({ naturalWidth }) => naturalWidth === 0);
  const title = document.querySelector('h1, .NotFound .title');
  return [
    ...(scrollWidth > innerWidth ? [`it is ${scrollWidth} wide`] : []),
    ...(title === null || title.getBoundingClientRect().height === 0 ? ['no title is shown'] : []),
    ...pictures.map(({ src }) => `${src} is not shown`),
  ];
}

/** Runs in the page. */
function readLinks(): { ids: string[]; hrefs: string[] } {
  return {
    ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
    hrefs: [...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href') ?? ''),
  };
}
