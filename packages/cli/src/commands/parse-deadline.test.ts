import { expect, it } from 'vitest';
import { downCommand } from './down.ts';
import { parseDeadline } from './parse-deadline.ts';

it('accepts whole seconds up to the maximum of a timer', () => {
  expect(parseDeadline('1')).toBe(1);
  expect(parseDeadline('2147483')).toBe(2_147_483);
});

it.each(['0', '-1', '1.5', 'x', '2147484', '9007199254740991'])('refuses %s and names the range', (text) => {
  expect(() => parseDeadline(text)).toThrow(/a whole number from 1 to 2147483/);
});

it('checks the deadline of "skerry down"', async () => {
  const command = downCommand()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  const parsing = command.parseAsync(['--deadline', '2147484'], { from: 'user' });
  await expect(parsing).rejects.toThrow(/from 1 to 2147483/);
});
