import { expect, it } from 'vitest';
import { createLog } from './log.ts';

it('writes an error with its code and its causes, in one line', () => {
  const lines: string[] = [];
  const log = createLog({ write: (line) => void lines.push(line) });
  const cause = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  log.error('sandbox did not start', { sandboxId: 'one', error: new Error('the host is full', { cause }) });
  log.info('sandbox started');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      level: 'error',
      message: 'sandbox did not start',
      sandboxId: 'one',
      error: {
        name: 'Error',
        message: 'the host is full',
        cause: { message: 'no space left', code: 'ENOSPC', stack: expect.stringContaining('log.test.ts') },
      },
    },
    { level: 'info', message: 'sandbox started' },
  ]);
  expect(lines.join('')).not.toContain('\n');
});

it('writes only the levels from the chosen one on, by default from info', () => {
  const write = (options: { level?: 'debug' | 'error' }): unknown[] => {
    const lines: string[] = [];
    const log = createLog({ write: (line) => void lines.push(line), ...options });
    for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level]('said');
    return lines.map((line) => (JSON.parse(line) as { level: string }).level);
  };
  expect(write({})).toEqual(['info', 'warn', 'error']);
  expect(write({ level: 'debug' })).toEqual(['debug', 'info', 'warn', 'error']);
  expect(write({ level: 'error' })).toEqual(['error']);
});

it('writes a line for a person with the time, the fields, and the causes of an error without a stack', () => {
  const lines: string[] = [];
  const log = createLog({ write: (line) => void lines.push(line), isForPerson: true });
  const cause = new Error('no space left');
  log.warn('sandbox did not start', {
    sandboxId: 'i1',
    tookMs: 12,
    node: undefined,
    kind: null,
    error: new Error('the host is full', { cause }),
  });
  expect(lines).toEqual([
    expect.stringMatching(
      /^\d\d:\d\d:\d\d {2}warn {3}sandbox did not start {2}sandboxId=i1 {2}tookMs=12 {2}error="the host is full: no space left"$/,
    ),
  ]);
});
