import { expect, it } from 'vitest';
import { toFigures } from './figures.ts';
import { withRows } from './report.ts';

const machine = { cpu: 'Z80', cores: 1, memoryGiB: 2, kernel: '6.1', load: 0, node: '24.0.0' };
const row = (name: string) => ({ name, unit: 'ms', p50: 1, p95: 2, n: 3 });
const report = { machine, rows: [row('a.one'), row('b.one'), row('b.two')] };
const toPage = (names: string, between = '') =>
  `before\n<!-- figures: ${names} -->\n${between}<!-- /figures -->\nafter\n`;

it('writes the machine and the listed rows between the markers and keeps the rest', () => {
  const page = toFigures(toPage('b.* a.one', 'old 7 figures\n'), report);
  expect(page).toMatch(/^before\n<!-- figures: b\.\* a\.one -->\n\n```\nZ80, 1 cores, .*\n\nname /);
  expect(page.match(/^[ab]\.\w+/gm)).toEqual(['b.one', 'b.two', 'a.one']);
  expect(page).toMatch(/```\n\n<!-- \/figures -->\nafter\n$/);
  expect(page).not.toContain('old');
});

it('writes rows of a later run into a table of their own, under its machine', () => {
  const later = withRows(report, {
    machine: { ...machine, load: 5 },
    rows: [{ ...row('b.one'), p50: 9 }, row('c')],
  });
  const page = toFigures(toPage('a.one b.* c'), later);
  expect(page.match(/^(?:[abc]\b\S*|Z80.*)/gm)).toEqual([
    ...['Z80, 1 cores, 2 GiB, Linux 6.1, Node 24.0.0, load 0', 'a.one', 'b.two'],
    ...['Z80, 1 cores, 2 GiB, Linux 6.1, Node 24.0.0, load 5', 'b.one', 'c'],
  ]);
  expect(page).toMatch(/^b\.one +ms +9 /m);
});

it('writes the ratio of a row into a sentence', () => {
  const page =
    'takes <!-- ratio: a.one -->9<!-- /ratio --> × the reference, <!-- ratio: a.one --><!-- /ratio -->';
  const measured = { machine, rows: [{ ...row('a.one'), ratio: 0.394 }] };
  expect(toFigures(page, measured)).toBe(page.replaceAll(/>9?<!-- \//g, '>0.394<!-- /'));
  expect(() => toFigures(page, report)).toThrow('no row with a ratio is called a.one');
});

it('changes nothing the second time', () => {
  const once = toFigures(toPage('a.one'), report);
  expect(toFigures(once, report)).toBe(once);
});

it('refuses a page without markers and a name without a row', () => {
  expect(() => toFigures('nothing', report)).toThrow('no markers');
  expect(() => toFigures(toPage('c.one'), report)).toThrow('no row is called c.one');
});
