import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { controlPaths, toUnpackQuery, type UnpackRequest } from '@skerry/contract/agent-control';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeArchive, type TestEntry } from '../../testing/archive.ts';
import { type Answer, startAgent, type TestAgent } from '../../testing/start-agent.ts';

let agent: TestAgent;
let destination: string;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());
beforeEach(() => {
  destination = join(mkdtempSync(join(agent.dir, 'case-')), 'to');
});

const asBefore = { keepsOwners: false, overwritesFolders: false };

const send = (body: Uint8Array, request: Partial<UnpackRequest> = {}): Promise<Answer> => {
  const whole = {
    source: '',
    destination,
    intoFolder: false,
    owner: 'user',
    mode: undefined,
    ...asBefore,
    ...request,
  };
  const path = `${controlPaths.unpack}?${toUnpackQuery(whole)}`;
  return agent.http({ method: 'POST', path, socket: 'control.sock', body });
};
const unpack = async (entries: readonly TestEntry[], request: Partial<UnpackRequest> = {}): Promise<Answer> =>
  send(await makeArchive(entries), request);
const read = (...path: string[]): string => readFileSync(join(destination, ...path), 'utf8');
const describeFile = (...path: string[]): string => {
  const { mode, uid, gid } = lstatSync(join(destination, ...path));
  return `${(mode & 0o7777).toString(8)} ${uid}:${gid}`;
};

const tree: TestEntry[] = [
  { name: 'app/', type: 'directory', mode: 0o750 },
  { name: 'app/run', mode: 0o755, content: 'run' },
  { name: 'app/real/x', mode: 0o640, content: 'x' },
  { name: 'app/link', type: 'symlink', linkname: 'real' },
  { name: 'app/link/y', content: 'y' },
  { name: 'app/same', type: 'link', linkname: 'app/run' },
];

describe('POST /unpack', () => {
  it.each([
    ['plain', (bytes: Buffer) => bytes],
    ['gzip', gzipSync],
  ])('writes a %s archive with its modes and links, to a new folder of the owner', async (_kind, encode) => {
    const answer = await send(encode(await makeArchive(tree)), { source: 'app' });
    expect([answer.status, answer.json]).toEqual([204, undefined]);
    expect([read('run'), read('real/x'), read('real/y'), read('same')]).toEqual(['run', 'x', 'y', 'run']);
    expect(readlinkSync(join(destination, 'link'))).toBe('real');
    expect([describeFile(), describeFile('run'), describeFile('real/x')]).toEqual([
      '750 1000:1000',
      '755 1000:1000',
      '640 1000:1000',
    ]);
    expect(lstatSync(join(destination, 'run')).ino).toBe(lstatSync(join(destination, 'same')).ino);
  });

  it('merges with what is there: folders keep owner and mode, files and links are replaced', async () => {
    mkdirSync(join(destination, 'real'), { recursive: true, mode: 0o700 });
    writeFileSync(join(destination, 'kept'), 'kept');
    symlinkSync('/etc/passwd', join(destination, 'run'));
    expect((await unpack(tree, { source: 'app' })).status).toBe(204);
    expect([read('kept'), read('run'), describeFile('real')]).toEqual(['kept', 'run', '700 0:0']);
    expect(lstatSync(join(destination, 'run')).isFile()).toBe(true);
  });

  it('gives a single file the name of the destination, or its own name in a folder', async () => {
    const one = [{ name: 'etc/a.conf', content: 'a' }];
    const request = { source: 'etc/a.conf' };
    await unpack(one, { ...request, destination: join(destination, 'deep/b.conf') });
    expect(read('deep/b.conf')).toBe('a');
    await unpack(one, { ...request, destination: join(destination, 'new'), intoFolder: true });
    await unpack(one, { ...request, destination: join(destination, 'deep') });
    expect([read('new/a.conf'), read('deep/a.conf')]).toEqual(['a', 'a']);
  });

  it('sets one mode for all, and an owner by name or number', async () => {
    const entries = tree.slice(0, 2);
    await unpack(entries, { source: 'app', mode: '0705', owner: 'root:extra' });
    expect([describeFile(), describeFile('run')]).toEqual(['705 0:2001', '705 0:2001']);
    await unpack(entries, { source: 'app', owner: '77' });
    expect(describeFile('run')).toBe('755 77:77');
    await unpack(entries, { source: 'app', owner: '77:0' });
    expect(describeFile('run')).toBe('755 77:0');
  });

  it('follows links of the destination that stay in it', async () => {
    mkdirSync(join(destination, 'usr/lib'), { recursive: true });
    symlinkSync('usr/lib', join(destination, 'lib'));
    symlinkSync(join(destination, 'usr'), join(destination, 'all'));
    await unpack([
      { name: 'lib/', type: 'directory' },
      { name: 'lib/one', content: '1' },
      { name: 'all/two', content: '2' },
    ]);
    expect([read('usr/lib/one'), read('usr/two')]).toEqual(['1', '2']);
    expect(lstatSync(join(destination, 'lib')).isSymbolicLink()).toBe(true);
  });

  it.each<[string, TestEntry[], string]>([
    ['an absolute path', [{ name: '/etc/evil' }], '"/etc/evil" of the archive has an absolute path'],
    [
      'a path with ..',
      [{ name: 'a/../../evil' }],
      '"a/../../evil" of the archive leaves the archive by ".."',
    ],
    [
      'a name that is not UTF-8',
      [{ name: 'caf\ufffd' }],
      '"caf\ufffd" of the archive has a name that is not UTF-8',
    ],
    [
      'a target that is not UTF-8',
      [{ name: 'link', type: 'symlink', linkname: 'caf\ufffd' }],
      '"link" of the archive has a target that is not UTF-8',
    ],
    [
      'a path through a link to the outside',
      [{ name: 'out', type: 'symlink', linkname: '/' }, { name: 'out/evil' }],
      '"out/evil" of the archive leaves the destination through a link',
    ],
    [
      'a path through a link with ..',
      [{ name: 'out', type: 'symlink', linkname: 'a/../..' }, { name: 'out/evil' }],
      '"out/evil" of the archive leaves the destination through a link',
    ],
    [
      'a path through links without end',
      [{ name: 'loop', type: 'symlink', linkname: 'loop' }, { name: 'loop/evil' }],
      '"loop/evil" of the archive passes through too many links',
    ],
    [
      'a hard link to the outside',
      [{ name: 'hard', type: 'link', linkname: '../outside' }],
      '"hard" of the archive leaves the archive by ".."',
    ],
    [
      'a hard link through a link to the outside',
      [
        { name: 'out', type: 'symlink', linkname: '..' },
        { name: 'hard', type: 'link', linkname: 'out/outside' },
      ],
      '"hard" of the archive leaves the destination through a link',
    ],
    [
      'a device',
      [{ name: 'disk', type: 'block-device', devmajor: 8, devminor: 0 }],
      '"disk" of the archive is a block-device, not a file, folder or link',
    ],
    ['a named pipe', [{ name: 'pipe', type: 'fifo' }], '"pipe" of the archive is a fifo'],
    [
      'a file in the place of a folder',
      [{ name: 'a/b' }, { name: 'a' }],
      '"a" of the archive is in the place of a folder',
    ],
    [
      'a folder in the place of a file',
      [{ name: 'a' }, { name: 'a/b' }],
      '"a/b" of the archive passes through something that is no folder',
    ],
  ])('refuses %s with the name of the entry', async (_what, entries, message) => {
    writeFileSync(join(destination, '../outside'), 'outside');
    const { status, json } = await unpack(entries);
    expect([status, json]).toEqual([400, { code: 400, message: expect.stringContaining(message) }]);
    expect(readdirSync(join(destination, '..')).filter((name) => name !== 'to')).toEqual(['outside']);
    expect(existsSync('/etc/evil')).toBe(false);
  });

  it('refuses entries beside the source, and an archive without any in it', async () => {
    const beside = await unpack([{ name: 'other/file' }], { source: 'app' });
    expect(beside.json).toMatchObject({ message: expect.stringContaining('"other/file"') });
    const empty = await unpack([{ name: 'app/', type: 'directory' }], { source: 'app/inner' });
    expect(empty).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining('nothing in "app/inner"') },
    });
  });

  it('refuses an unknown user or group, a relative destination and a wrong mode', async () => {
    for (const [request, message] of [
      [{ owner: 'stranger' }, "invalid username: 'stranger'"],
      [{ owner: 'user:strangers' }, "invalid group: 'strangers'"],
      [{ destination: 'relative' }, 'destination'],
      [{ mode: '10000' }, 'mode'],
    ] as const)
      expect((await unpack(tree, request)).json).toMatchObject({ message: expect.stringContaining(message) });
  });

  it('refuses an archive that is cut off, damaged or larger than the disk, and serves the next', async () => {
    const whole = await makeArchive([{ name: 'large', content: 'a'.repeat(100_000) }]);
    for (const bytes of [whole.subarray(0, 50_000), gzipSync(whole).subarray(0, 60), Buffer.alloc(2_000, 7)])
      expect(await send(bytes)).toMatchObject({
        status: 400,
        json: { message: expect.stringContaining('incomplete or damaged') },
      });
    const large = [{ name: 'large', content: 'a'.repeat(2_000_000) }];
    const full = await unpack(large, { destination: join(agent.smallDisk, 'to') });
    expect(full).toMatchObject({ status: 507, json: { message: expect.stringContaining('"large"') } });
    expect((await unpack(tree, { source: 'app' })).status).toBe(204);
  });
});
