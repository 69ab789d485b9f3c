import { describe, expect, it } from 'vitest';
import { createFailureLog } from './failure-log.ts';

const start = () => {
  const lines: unknown[] = [];
  const clock = { nowMs: 5 };
  const failures = createFailureLog({
    log: { warn: (message, fields) => lines.push({ message, ...fields }) },
    now: () => clock.nowMs,
  });
  return { lines, clock, failures };
};
const broken = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
const one = { sandboxId: 'ione', port: 3000 };

describe('the log of sandboxes that do not respond', () => {
  it('has one line a minute for each sandbox, with the count of omitted failures', () => {
    const { lines, clock, failures } = start();
    for (let failure = 0; failure < 500; failure += 1) failures.note({ ...one, port: 1 + failure }, broken);
    failures.note({ sandboxId: 'itwo', port: 80 }, broken);
    clock.nowMs += 59_999;
    failures.note(one, broken);
    expect(lines).toMatchObject([{ sandboxId: 'ione' }, { sandboxId: 'itwo' }]);
    clock.nowMs += 1;
    failures.note(one, broken);
    expect(lines).toHaveLength(3);
    expect(lines[2]).toEqual({
      message: 'no response from a sandbox',
      code: 'ECONNRESET',
      sandboxId: 'ione',
      port: 3000,
      untold: 500,
    });
  });

  it('identifies an error without a code by its class, and resets the count after the end of a run', () => {
    const { lines, failures } = start();
    failures.note(one, new TypeError('with\nwords from inside'));
    failures.forget('ione');
    failures.note(one, broken);
    expect(lines).toMatchObject([{ code: 'TypeError' }, { code: 'ECONNRESET', untold: 0 }]);
    expect(JSON.stringify(lines)).not.toContain('words from inside');
  });
});
