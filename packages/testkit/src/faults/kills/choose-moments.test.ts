import { expect, it } from 'vitest';
import { chooseMoments } from './choose-moments.ts';

const toStep = (what: string, time: number, isFirst = true) => ({ name: `${what} ${time}`, what, isFirst });

it('whatever shows at one time is one moment, and of what goes on for long, every fourth time is', () => {
  const steps = [
    toStep('record.json', 1),
    toStep('disk', 1, false),
    ...Array.from({ length: 6 }, (_, index) => toStep('disk', index + 2)),
    toStep('record.json', 2),
    toStep('record.json', 3, false),
  ];
  expect(chooseMoments(steps)).toEqual([
    { step: 'record.json 1', turn: 1 },
    { step: 'disk 5', turn: 5 },
    { step: 'record.json 2', turn: 8 },
  ]);
});
