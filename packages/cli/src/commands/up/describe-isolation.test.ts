import { expect, it } from 'vitest';
import { describeIsolation } from './describe-isolation.ts';

it('says what the level is for, and by which word another one is had', async () => {
  expect(await describeIsolation('container', async () => ({}))).toEqual([
    'container, for code of your own or your team',
    'for hostile code: --isolation gvisor (untried: see "skerry doctor")',
  ]);
  expect(await describeIsolation('gvisor', async () => ({}))).toEqual([
    'gvisor, for hostile code',
    'for code of your own or your team: --isolation container (untried: see "skerry doctor")',
  ]);
});

it('says that the other level works where a server has proved it, and else what prevents it', async () => {
  expect((await describeIsolation('container', async () => ({ hasWorked: true })))[1]).toBe(
    'for hostile code: --isolation gvisor works here',
  );
  expect((await describeIsolation('container', async () => ({ obstacle: 'it needs root' })))[1]).toBe(
    'for hostile code: --isolation gvisor does not start here: it needs root',
  );
});
