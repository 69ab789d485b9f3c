import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createUsers } from './users.ts';

const folder = mkdtempSync(join(tmpdir(), 'skerry-users-'));
afterAll(() => rmSync(folder, { recursive: true }));
const passwdPath = join(folder, 'passwd');
const groupPath = join(folder, 'group');
writeFileSync(passwdPath, 'worker:x:1500:1600::/srv/worker:/bin/sh\n7:x:70:71::/seven:/bin/sh\n');
writeFileSync(groupPath, 'extra:x:1700:worker\n');
const users = createUsers({ passwdPath, groupPath });

it('finds a user by name or number, and takes a number that no account has', () => {
  const worker = { name: 'worker', uid: 1500, gid: 1600, home: '/srv/worker', groups: [1700] };
  expect([users.get('worker'), users.get('1500')]).toEqual([worker, worker]);
  expect(users.get('7')).toMatchObject({ uid: 70 });
  expect(users.get('12')).toEqual({ name: '12', uid: 12, gid: 0, home: '/', groups: [] });
  expect(users.get('0')).toMatchObject({ name: 'root', home: '/root' });
});

it('takes a group after a slash in place of all groups of the user', () => {
  expect(users.get('worker/extra')).toMatchObject({ uid: 1500, gid: 1700, groups: [] });
  expect(users.get('12/13')).toMatchObject({ uid: 12, gid: 13, groups: [] });
});

it.each(['nobody', 'worker/none', '', '4294967295', '-1', '1.5'])('refuses %j', (name) => {
  expect(() => users.get(name)).toThrow(`invalid username: '${name}'`);
});
