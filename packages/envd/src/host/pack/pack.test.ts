import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { controlPaths, parsePackHeaders, toPackQuery, toUnpackQuery } from '@skerry/contract/agent-control';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { getAttributeBytes } from '../../system/xattr.ts';
import { type Answer, startAgent, type TestAgent } from '../../testing/start-agent.ts';

let agent: TestAgent;
let from: string;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());
beforeEach(() => {
  from = mkdtempSync(join(agent.dir, 'from-'));
});

const pack = (source: string): Promise<Answer> =>
  agent.http({
    path: `${controlPaths.pack}?${toPackQuery({ source, inside: false })}`,
    socket: 'control.sock',
  });

/** Packs and unpacks in the same agent, as a build does between two. */
const copy = async (path: string, to: string, more: object = {}): Promise<Answer> => {
  const packed = await pack(path);
  if (packed.status !== 200) return packed;
  const { source, isSeveral } = parsePackHeaders(packed.headers);
  const flags = {
    intoFolder: isSeveral,
    owner: 'root',
    mode: undefined,
    keepsOwners: true,
    overwritesFolders: true,
  };
  const query = toUnpackQuery({ source, destination: to, ...flags, ...more });
  const target = `${controlPaths.unpack}?${query}`;
  return agent.http({ method: 'POST', path: target, socket: 'control.sock', body: packed.body });
};
const describeFile = (path: string): string => {
  const { mode, uid, gid, nlink } = lstatSync(path);
  return `${(mode & 0o7777).toString(8)} ${uid}:${gid} ${nlink}`;
};

describe('GET /pack', () => {
  it('keeps owners, modes, hard links, links and attributes, and overwrites folders below the destination', async () => {
    mkdirSync(join(from, 'sub'));
    writeFileSync(join(from, 'sub/run'), 'run');
    chownSync(join(from, 'sub/run'), 300_000, 12);
    chmodSync(join(from, 'sub/run'), 0o4711);
    linkSync(join(from, 'sub/run'), join(from, 'sub/same'));
    symlinkSync('../none', join(from, 'sub/link'));
    execFileSync('setfattr', ['-n', 'user.any', '-v', '0xff00fe', join(from, 'sub/run')]);
    chownSync(join(from, 'sub'), 13, 14);
    chmodSync(join(from, 'sub'), 0o2750);
    const to = mkdtempSync(join(agent.dir, 'to-'));
    chmodSync(to, 0o705);
    mkdirSync(join(to, 'sub'), { mode: 0o700 });
    expect((await copy(from, to)).status).toBe(204);
    expect(['', 'sub', 'sub/run', 'sub/same'].map((name) => describeFile(join(to, name)))).toEqual([
      expect.stringMatching(/^705 0:0 /),
      expect.stringMatching(/^2750 13:14 /),
      '4711 300000:12 2',
      '4711 300000:12 2',
    ]);
    expect(readlinkSync(join(to, 'sub/link'))).toBe('../none');
    expect(getAttributeBytes(join(to, 'sub/run'), 'user.any')).toEqual(Buffer.from([0xff, 0, 0xfe]));
  });

  it('gives one match of a pattern the name of the destination, and several their own in a folder', async () => {
    for (const name of ['one.jar', 'two.txt', '.three.txt']) writeFileSync(join(from, name), name);
    mkdirSync(join(from, 'd.txt'));
    writeFileSync(join(from, 'd.txt/in'), 'in');
    const to = join(from, 'to');
    await copy(join(from, '*.jar'), join(to, 'app.jar'));
    await copy(`${from}/../*/*.txt`, join(to, 'all'));
    await copy(join(from, '*.txt'), join(to, 'all'), { owner: '5:6', keepsOwners: false });
    expect(readFileSync(join(to, 'app.jar'), 'utf8')).toBe('one.jar');
    expect(
      ['two.txt', '.three.txt', 'in'].map((name) => readFileSync(join(to, 'all', name), 'utf8')),
    ).toEqual([...['two.txt', '.three.txt', 'in']]);
    expect(describeFile(join(to, 'all/two.txt'))).toBe('644 5:6 1');
  });

  it.each([
    ['/no/such', '"/no/such" does not exist'],
    ['/etc/no-*', 'nothing matches'],
    ['/proc/self/environ', 'is no file of the image'],
    ['../../proc/version', 'is no file of the image'],
  ])('refuses %s', async (path, message) => {
    const answer = await pack(path);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ message: expect.stringContaining(message) });
  });

  it('follows a link that is named, but not to what the host mounts, and refuses a pipe', async () => {
    symlinkSync('/proc/version', join(from, 'link'));
    expect((await pack(join(from, 'link'))).status).toBe(400);
    execFileSync('mkfifo', [join(from, 'pipe')]);
    expect((await pack(from)).json).toMatchObject({
      message: expect.stringContaining('neither a file nor a folder'),
    });
  });

  it('refuses a name and a target that are not UTF-8', async () => {
    const byte = Buffer.from([0xe9]);
    symlinkSync(byte, join(from, 'link'));
    expect((await pack(from)).json).toMatchObject({
      message: expect.stringContaining('/link" has a target that is not UTF-8'),
    });
    unlinkSync(join(from, 'link'));
    writeFileSync(Buffer.concat([Buffer.from(`${from}/caf`), byte]), 'x');
    expect((await pack(from)).json).toMatchObject({
      message: expect.stringContaining('/caf\ufffd" has a name that is not UTF-8'),
    });
  });
});
