import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const page = 'docs/agent-rules.md';
const folder = 'packages/testkit/src/agent-rules';

/** The ids of the page, such as `6.1-15`, from lines like `- **6.1-15** HTTP/1.1 and …`. */
function listRules(text: string): string[] {
  return [...text.matchAll(/^- \*\*([\d.]+-\d+)\*\* \S/gm)].map(([, id]) => id as string);
}

/** A call like `it.each(…)(` or `describe.skip(`; of `each`, what is in between is left to the next match. */
const call = /\b(it|test|describe|testAgents)((?:\.\w+)*)\s*[(`]/g;
const notRun = /\.(skip|skipIf|runIf|todo|fails|only)\b/;

/** The ids of titles like `rule 5.1-2, 8.2-1: a wrong token …`, of tests that are run: a skipped one proves nothing. */
function listTestedRules(source: string): string[] {
  const calls = [...source.matchAll(call)].map(({ index, 2: modifiers = '' }) => ({ index, modifiers }));
  return [...source.matchAll(/['"`]rule ([^:'"`]*): \S/g)].flatMap(({ index, 1: ids = '' }) => {
    const its = calls.findLast((one) => one.index < index);
    return its === undefined || notRun.test(its.modifiers) ? [] : ids.split(',').map((id) => id.trim());
  });
}

/** What keeps a test or a group from being run. */
function listSkips(source: string): string[] {
  const skip = /\b\w+(?:\.\w+)*\.(?:skip|skipIf|runIf|todo|fails|only)(?:\.\w+)*\s*\(/g;
  return [...source.matchAll(skip)].map(([text]) => text);
}

describe('the rules of the agent', () => {
  const rules = listRules(readFileSync(page, 'utf8'));
  const sources = readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
  const tested = new Set(sources.flatMap(listTestedRules));

  it('have unique ids', () => {
    expect(rules.length).toBeGreaterThan(100);
    expect(rules.filter((id, index) => rules.indexOf(id) !== index)).toEqual([]);
  });

  it('have one test or more each', () => {
    expect(rules.filter((id) => !tested.has(id))).toEqual([]);
  });

  it('are proven by tests of which none is skipped', () => {
    expect(sources.flatMap(listSkips)).toEqual([]);
  });

  it('include every rule that a test names', () => {
    expect([...tested].filter((id) => !rules.includes(id))).toEqual([]);
  });
});

/** The rows of the page that name a test by its file below `packages/` and its title. */
function listRows(text: string): { row: string; file: string; title: string }[] {
  return [...text.matchAll(/^\| (.*?) +\|(?:[^|]*\|)? `([\w./-]+)`: (.*?) +\|$/gm)].map(
    ([, row = '', file = '', title = '']) => ({ row, file, title }),
  );
}

/** Whether a source has a test with that title that is run. */
function hasTest(source: string, title: string): boolean {
  const at = source.indexOf(title);
  const its = [...source.matchAll(call)].findLast(({ index }) => index < at);
  return at !== -1 && its !== undefined && !notRun.test(its[2] ?? '');
}

describe('the tables of pauses and of the edge', () => {
  const rows = listRows(readFileSync(page, 'utf8'));

  it('have as many rows as they have lines, each for a case of its own', () => {
    const lines = readFileSync(page, 'utf8').match(/^\| (?!-)/gm) ?? [];
    // Two heads.
    expect(rows).toHaveLength(lines.length - 2);
    expect(rows.length).toBeGreaterThan(35);
    expect(new Set(rows.map(({ row }) => row)).size).toBe(rows.length);
  });

  it('name a test for each row', () => {
    const missing = rows.filter(
      ({ file, title }) => !hasTest(readFileSync(join('packages', file), 'utf8'), title),
    );
    expect(missing).toEqual([]);
  });

  it('take no title of another test, and no skipped test', () => {
    const source = `it('gets 502', f); it.skip('gets 403', g);`;
    expect(['gets 502', 'gets 403', 'gets 429'].map((title) => hasTest(source, title))).toEqual([
      ...[true, false, false],
    ]);
  });
});

describe('the check of the rules', () => {
  it('parses ids of the page and of titles in every form', () => {
    expect(
      listRules('- **6.1-2** A rule.\n- **bold** no rule\ntext **7.1-1** \n- **10-24** Another.'),
    ).toEqual(['6.1-2', '10-24']);
    const source = `it('rule 1.1-1: one', f); it.each(x)(\n  'rule 2-1, 2-2: of %s', g); it(\`rule 3.3-3: z\`, h); it('rule', i)`;
    expect(listTestedRules(source)).toEqual(['1.1-1', '2-1', '2-2', '3.3-3']);
  });

  it('takes no skipped test for a proof', () => {
    const source = `it.skip('rule 1-1: a', f); it.todo('rule 1-2: b'); it.skip.each(x)('rule 1-3: c', f); it('rule 1-4: d', f);
      test.runIf(y)('rule 1-5: e', f); describe.skip('f', () => { it('rule 1-6: g', f); }); it('h', (context) => context.skip());`;
    expect(listTestedRules(source)).toEqual(['1-4', '1-6']);
    expect(listSkips(source)).toEqual([
      'it.skip(',
      'it.todo(',
      'it.skip.each(',
      'test.runIf(',
      'describe.skip(',
      'context.skip(',
    ]);
  });
});
