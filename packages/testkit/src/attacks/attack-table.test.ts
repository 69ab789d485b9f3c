import { expect, it } from 'vitest';
import { toAttackTable } from './attack-table.ts';

it('the table has a line for each attack, with what stopped it in each place', () => {
  const held = { failed: false };
  expect(
    toAttackTable([
      { attack: 'reading', place: 'gvisor', stoppedBy: 'one | other', ...held },
      { attack: 'asking', place: 'outside', stoppedBy: 'a key', ...held },
      { attack: 'reading', place: 'container', stoppedBy: 'one | other', ...held },
      { attack: 'writing', place: 'container', stoppedBy: 'a rule', ...held },
      { attack: 'writing', place: 'gvisor', stoppedBy: 'the sentry', failed: true },
    ]).split('\n'),
  ).toEqual([
    '| Attack | Tried at | Stopped by |',
    '| --- | --- | --- |',
    '| asking | outside | a key |',
    '| reading | container, gvisor | one \\| other |',
    '| writing | container, gvisor | container: a rule; gvisor: NOT STOPPED |',
  ]);
});
