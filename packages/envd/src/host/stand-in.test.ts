import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { controlPaths, toEndQuery, toStandInQuery } from '@skerry/contract/agent-control';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
let place: string;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());
beforeEach(() => {
  place = mkdtempSync(join(agent.dir, 'place-'));
});

const post = (path: string): Promise<Answer> => agent.http({ method: 'POST', path, socket: 'control.sock' });
const enter = (target: string, folder?: { mode: number; uid: number; gid: number }): Promise<Answer> =>
  post(`${controlPaths.standIn}?${toStandInQuery({ target, folder })}`);
const leave = (target: string): Promise<Answer> =>
  post(`${controlPaths.putBack}?${new URLSearchParams({ target }).toString()}`);

describe('POST /stand-in and /put-back', () => {
  it('gives a folder in the place of another, and puts that back as it was', async () => {
    const target = join(place, 'cache');
    mkdirSync(join(target, 'deep'), { recursive: true });
    writeFileSync(join(target, 'deep/own'), 'own');
    chmodSync(target, 0o2750);
    const before = new Date(1_000_000_000_000);
    for (const path of [target, place]) utimesSync(path, before, before);
    expect((await enter(target, { mode: 0o1777, uid: 5, gid: 6 })).status).toBe(204);
    const { mode, uid, gid } = lstatSync(target);
    expect([mode & 0o7777, uid, gid, readdirSync(target)]).toEqual([0o1777, 5, 6, []]);
    writeFileSync(join(target, 'new'), 'new');
    expect((await leave(target)).status).toBe(204);
    expect(readdirSync(target)).toEqual(['deep']);
    expect(readFileSync(join(target, 'deep/own'), 'utf8')).toBe('own');
    expect(lstatSync(target).mode & 0o7777).toBe(0o2750);
    expect([lstatSync(target).mtime, lstatSync(place).mtime]).toEqual([before, before]);
  });

  it('makes what is missing, and removes it again unless something was put there', async () => {
    const [one, other] = [join(place, 'a/b/one'), join(place, 'c/d/other')];
    for (const target of [one, other]) expect((await enter(target)).status).toBe(204);
    writeFileSync(one, 'file');
    writeFileSync(join(place, 'c/kept'), 'kept');
    for (const target of [other, one]) expect((await leave(target)).status).toBe(204);
    expect(existsSync(join(place, 'a'))).toBe(false);
    expect(readdirSync(join(place, 'c'))).toEqual(['kept']);
  });

  it('follows links to the folder', async () => {
    mkdirSync(join(place, 'real'));
    symlinkSync('real', join(place, 'link'));
    await enter(join(place, 'link'), { mode: 0o755, uid: 0, gid: 0 });
    writeFileSync(join(place, 'real/new'), '');
    await leave(join(place, 'link'));
    expect([readdirSync(join(place, 'real')), lstatSync(join(place, 'link')).isSymbolicLink()]).toEqual([
      [],
      true,
    ]);
  });

  it.each([
    ['/', 'nothing can be mounted on'],
    ['relative', 'must be absolute'],
    ['/proc/self', 'is no path of the image'],
    ['/dev/x', 'is no path of the image'],
    ['/etc/passwd/x', 'is no folder'],
  ])('refuses %s', async (target, message) => {
    const answer = await enter(target);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ message: expect.stringContaining(message) });
  });

  it('refuses to put back what it does not hold', async () => {
    expect((await leave(join(place, 'none'))).status).toBe(400);
  });
});

it('POST /end-all ends no process where the agent is not alone', async () => {
  const answer = await post(`${controlPaths.endAll}?${toEndQuery(agent.pid)}`);
  expect(answer.status).toBe(501);
});
