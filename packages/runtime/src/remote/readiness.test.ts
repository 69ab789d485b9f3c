import { expect, it } from 'vitest';
import { RuntimeError } from '../error.ts';
import { formatReadiness, parseReadiness } from './readiness.ts';

it('reports that the helper is ready, on one line', () => {
  expect(formatReadiness()).toBe('ready\n');
  expect(parseReadiness('ready')).toBeUndefined();
});

it('reports the code and the message of a failure, on one line', () => {
  const line = formatReadiness(new RuntimeError('unsupported', 'two\nlines', { cause: new Error('why') }));
  expect(line).toMatch(/^[^\n]+\n$/);
  expect(parseReadiness(line.trimEnd())).toEqual(new RuntimeError('unsupported', 'two\nlines'));
});
