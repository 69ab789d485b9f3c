import { expect, it } from 'vitest';
import { listMutants } from './mutants.ts';

const defectsOf = (text: string): string[] => listMutants(text).map(({ from, to }) => `${from}|${to}`);

it('plants each defect once, and none in comments, imports, types and messages', () => {
  expect(
    defectsOf(`import { a } from 'b';
/** Whether a === b. */
export type Kind = 'x' | 'y';
interface Shape {
  kind: 'x';
}
// a && b
export const isSame = (a: number, b: number): boolean => a === b;
`),
  ).toEqual(['===|!==']);
});

it('changes conditions, bounds and constants, and leaves out calls and refusals', () => {
  expect(
    defectsOf(`const check = (n: number) => {
  if (n < 5 && isOn) throw new Error('too small');
  stop(n);
};
`),
  ).toEqual([
    ' < | == ',
    ' < | >= ',
    ' < | <= ',
    '&&|||',
    'if (|if (true || ',
    'if (|if (false && ',
    '5|(5+1)',
    'stop(n);|;',
  ]);
});

it('leaves out what does not parse', () => {
  for (const { source } of listMutants(`const a = <T>(b: T): T => b;\nconst c = 1 < 2;\n`))
    expect(source).not.toContain('< =');
});

it('leaves out what changes types alone', () => {
  const text = `const read = ({ size }: Pick<Disk, 'size'>, name = 'disk' as 'disk' | 'root') => size;\n`;
  expect(defectsOf(text)).toEqual([`'disk'|''`]);
});

it('shows the line of a defect with it and without it', () => {
  expect(listMutants('const a = 1;\n  const c = a === b;\n')).toMatchObject([
    { line: 1, intact: 'const a = 1;', defect: 'const a = (1+1);' },
    { line: 2, intact: 'const c = a === b;', defect: 'const c = a !== b;' },
  ]);
});

it('leaves out messages, whatever they contain, but not what is put into them or stands behind them', () => {
  const text = `const url = 'http://a', b = 3 === c;
const of = ['there are 3 of 5 || more, it is so', \`at most \${n + 1} of 7, not \${m}\`, 2];
`;
  expect(defectsOf(text)).toEqual(['===|!==', '3|(3+1)', "'http://a'|''", ' + | - ', '1|(1+1)', '2|(2+1)']);
});
