import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const page = 'docs/agent-rules.md';
const folder = 'packages/testkit/src/agent-rules';

/** The ids of the page, such as `6.1-15`, from lines like `- **6.1-15** HTTP/1.1 and …`. */
function listRules(text: string): string[] {
  return [...text.matchAll(/^- \*\*([\d.]+-\d+)\*\* \S/gm)].map(([, id]) => id as string);
}

/** The ids of titles like `rule 5.1-2, 8.2-1: a wrong token …`. */
function listTestedRules(source: string): string[] {
  return [...source.matchAll(/['"`]rule ([^:'"`]*): \S/g)].flatMap(([, ids]) =>
    (ids as string).split(',').map((id) => id.trim()),
  );
}

describe('the rules of the agent', () => {
  const rules = listRules(readFileSync(page, 'utf8'));
  const tested = new Set(
    readdirSync(folder)
      .filter((name) => name.endsWith('.test.ts'))
      .flatMap((name) => listTestedRules(readFileSync(join(folder, name), 'utf8'))),
  );

  it('have ids of their own', () => {
    expect(rules.length).toBeGreaterThan(100);
    expect(rules.filter((id, index) => rules.indexOf(id) !== index)).toEqual([]);
  });

  it('have a test each', () => {
    expect(rules.filter((id) => !tested.has(id))).toEqual([]);
  });

  it('are all that tests claim to prove', () => {
    expect([...tested].filter((id) => !rules.includes(id))).toEqual([]);
  });
});

describe('the check of the rules', () => {
  it('reads ids from the page and from titles of every form', () => {
    expect(
      listRules('- **6.1-2** A rule.\n- **bold** no rule\ntext **7.1-1** \n- **10-24** Another.'),
    ).toEqual(['6.1-2', '10-24']);
    const source = `it('rule 1.1-1: one', f); it.each(x)(\n  'rule 2-1, 2-2: of %s', g); it(\`rule 3.3-3: z\`, h); it('rule', i)`;
    expect(listTestedRules(source)).toEqual(['1.1-1', '2-1', '2-2', '3.3-3']);
  });
});
