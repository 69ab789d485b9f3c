import type { Report } from './report.ts';
import { toTable } from './row.ts';

/** `<!-- figures: agent.* memory.idle -->` and `<!-- /figures -->`, with the text between. */
const block = /(<!-- figures: ([\w.* ]+) -->\n)[\s\S]*?(<!-- \/figures -->)/g;

/**
 * The page with the report's figures between its markers: the rows whose names the opening marker lists, in that order;
 * a name that ends with `*` stands for any number of rows. Throws for a page without markers and for an unknown name.
 */
export function toFigures(page: string, { machine, rows }: Report): string {
  if (page.search(block) === -1) throw new Error('the page has no markers for figures');
  return page.replace(block, (_, open: string, names: string, close: string) => {
    const listed = names.split(' ').flatMap((name) => {
      const matching = rows.filter((row) =>
        name.endsWith('*') ? row.name.startsWith(name.slice(0, -1)) : row.name === name,
      );
      if (matching.length === 0 && !name.endsWith('*')) throw new Error(`no row is called ${name}`);
      return matching;
    });
    return `${open}\n\`\`\`\n${toTable(machine, listed)}\n\`\`\`\n\n${close}`;
  });
}
