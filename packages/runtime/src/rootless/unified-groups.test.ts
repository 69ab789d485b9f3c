import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { mayMove, parseUnifiedGroup, readControllers, toCommonGroup } from './unified-groups.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'groups-'));
});
afterEach(() => rm(root, { recursive: true }));

it('finds the version 2 cgroup of a process beside those of version 1', () => {
  expect(parseUnifiedGroup('9:name=systemd:/\n8:pids:/one\n0::/user.slice/two.scope\n')).toBe(
    '/user.slice/two.scope',
  );
  expect(parseUnifiedGroup('8:pids:/one\n')).toBeUndefined();
});

it.each([
  ['/a/b/c', '/a/b/d', '/a/b'],
  ['/a/b', '/a/b/c', '/a/b'],
  ['/a/b/c', '/a/b', '/a/b'],
  ['/', '/a', '/'],
  ['/one', '/other', '/'],
])('says what %s and %s have in common', (one, other, common) => {
  expect(toCommonGroup(one, other)).toBe(common);
});

it('reads the controllers that a group may use, none among them', async () => {
  await writeFile(join(root, 'cgroup.controllers'), 'cpu memory pids\n');
  expect(readControllers(root)).toEqual(['cpu', 'memory', 'pids']);
  await writeFile(join(root, 'cgroup.controllers'), '\n');
  expect(readControllers(root)).toEqual([]);
});

it('moves a process only where the members of the common group can be written', async () => {
  for (const path of ['user', 'user/session', 'user/manager/scope', 'user/manager/service'])
    await mkdir(join(root, path), { recursive: true });
  // The folders of root have none that this user can write to.
  for (const path of ['user/manager', 'user/manager/scope', 'user/manager/service'])
    await writeFile(join(root, path, 'cgroup.procs'), '');
  const to = '/user/manager/scope';
  expect(mayMove({ from: '/user/manager/service', to, root })).toBe(true);
  expect(mayMove({ from: '/user/session', to, root })).toBe(false);
  expect(mayMove({ from: '/user/manager/service', to: '/user/manager/none', root })).toBe(false);
});
