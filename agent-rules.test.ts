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
