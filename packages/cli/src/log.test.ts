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
  expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true);
});
