import { expect, it } from 'vitest';
import { toComplaints } from './complaints.ts';

it('leaves out regular reports, and keeps lines that are not JSON', () => {
  const quiet = '{"level":"info","message":"a \\"level\\":\\"error\\" in a text"}';
  const loud = '{"level":"warn","message":"a \\"level\\":\\"info\\" in a text"}';
  expect(toComplaints(`${quiet}\n${loud}\n{"level":"debug"}\n\nSegmentation fault\n`)).toEqual([
    loud,
    'Segmentation fault',
  ]);
});
