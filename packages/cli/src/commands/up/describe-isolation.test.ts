import { expect, it } from 'vitest';
import { describeIsolation } from './describe-isolation.ts';

it('says what the level is for, and by which word another one is had', async () => {
  expect(await describeIsolation('container', async () => ({}))).toEqual({
    lines: [
      'container, for code of your own or your team',
      'for hostile code: --isolation gvisor (being tried; missing programs are fetched)',
    ],
    untried: ['gvisor'],
  });
  expect(await describeIsolation('gvisor', async () => ({}))).toEqual({
    lines: [
      'gvisor, for hostile code',
      'for code of your own or your team: --isolation container (being tried; missing programs are fetched)',
    ],
    untried: ['container'],
  });
});

it('says that the other level works where a server has proved it, and else what prevents it', async () => {
  expect(await describeIsolation('container', async () => ({ hasWorked: true }))).toMatchObject({
    lines: [expect.any(String), 'for hostile code: --isolation gvisor works here'],
    untried: [],
  });
  expect(await describeIsolation('container', async () => ({ obstacle: 'it needs root' }))).toMatchObject({
    lines: [expect.any(String), 'for hostile code: --isolation gvisor does not start here: it needs root'],
    untried: [],
  });
});
