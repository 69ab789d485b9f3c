import type { Report, ReportedRow } from './report.ts';
import { toTable } from './row.ts';

/** `<!-- figures: agent.* memory.idle -->` and `<!-- /figures -->`, with the text between. */
const block = /(<!-- figures: ([\w.* ]+) -->\n)[\s\S]*?(<!-- \/figures -->)/g;

/** `<!-- ratio: create.cold -->` and `<!-- /ratio -->`, within a sentence, with the ratio between. */
const inlineRatio = /(<!-- ratio: ([\w.]+) -->).*?(<!-- \/ratio -->)/g;

/**
 * Returns the page with the report's figures between its markers: the rows whose names the opening marker lists, in that order, or
 * the ratio of one row. A name that ends with `*` stands for any number of rows. Rows of different runs are in tables of their own.
 * Throws for a page without markers, for an unknown name and for a ratio that the row lacks.
 */
export function toFigures(page: string, { machine, rows }: Report): string {
  if (page.search(block) === -1 && page.search(inlineRatio) === -1) {
    throw new Error('the page has no markers for figures');
  }
  const withRatios = page.replace(inlineRatio, (_, open: string, name: string, close: string) => {
    const ratio = rows.find((row) => row.name === name)?.ratio;
    if (ratio === undefined) throw new Error(`no row with a ratio is called ${name}`);
    return `${open}${ratio}${close}`;
  });
  return withRatios.replace(block, (_, open: string, names: string, close: string) => {
    const listed = names.split(' ').flatMap((name) => {
      const matching = rows.filter((row) =>
        name.endsWith('*') ? row.name.startsWith(name.slice(0, -1)) : row.name === name,
      );
      if (matching.length === 0 && !name.endsWith('*')) throw new Error(`no row is called ${name}`);
      return matching;
    });
    const tables = groupByMachine(machine, listed).map((group) => toTable(group.machine, group.rows));
    return `${open}\n\`\`\`\n${tables.join('\n\n')}\n\`\`\`\n\n${close}`;
  });
}

/** The load is a part of a machine, so it differs between runs. */
function groupByMachine(whole: Report['machine'], rows: readonly ReportedRow[]): Report[] {
  const groups = new Map<string, Report>();
  for (const row of rows) {
    const machine = row.machine ?? whole;
    const key = JSON.stringify(machine);
    const group = groups.get(key) ?? { machine, rows: [] };
    group.rows.push(row);
    groups.set(key, group);
  }
  return [...groups.values()];
}
