import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { Header, type HeaderData } from 'tar';
import { expect, it, onTestFinished } from 'vitest';
import { toArchiveError, unpack } from './unpack.ts';

type Entry = HeaderData & { content?: string };

const root: Entry = { path: './', type: 'Directory', mode: 0o777 };

/** An archive with exactly these heads, whatever a tool would make of them. */
const pack = (entries: readonly Entry[]): Buffer =>
  Buffer.concat([
    ...entries.flatMap(({ content = '', ...data }) => {
      const head = Buffer.alloc(512);
      new Header({ mode: 0o644, ...data, size: content.length }).encode(head);
      return [head, Buffer.from(content), Buffer.alloc((512 - (content.length % 512)) % 512)];
    }),
    Buffer.alloc(1024),
  ]);

const makeFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-unpack-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
};

/** Unpacks it, and returns the folder and what was left out. */
async function unpacked(archive: Buffer): Promise<{ folder: string; leftOut: string[] }> {
  const folder = makeFolder();
  const leftOut: string[] = [];
  const note = (path: string, reason: string): void => void leftOut.push(`${path}: ${reason}`);
  await pipeline(Readable.from([archive]), unpack(folder, note)).catch((error: unknown) => {
    throw toArchiveError(error);
  });
  return { folder, leftOut };
}

it('leaves out links that lead out of the folder, by whatever way, and keeps the others', async () => {
  const link = (path: string, linkpath: string): Entry => ({ path, type: 'SymbolicLink', linkpath });
  const { folder, leftOut } = await unpacked(
    pack([
      root,
      { path: './dir/deep/', type: 'Directory', mode: 0o755 },
      { path: './dir/file', type: 'File', content: 'text' },
      link('./dir/deep/up', '../file'),
      link('./here', '.'),
      link('./absolute', '/etc/passwd'),
      link('./above', '../secret'),
      link('./dir/deep/higher', '../../../secret'),
      // The names stay inside, and the way does not: "here" is the folder itself.
      link('./around', 'here/../secret'),
      { path: './second', type: 'Link', linkpath: './absolute' },
      { path: './twin', type: 'Link', linkpath: './dir/file' },
    ]),
  );
  expect(readdirSync(folder).toSorted()).toEqual(['dir', 'here', 'twin']);
  expect(readlinkSync(join(folder, 'dir/deep/up'))).toBe('../file');
  expect(readFileSync(join(folder, 'twin'), 'utf8')).toBe('text');
  expect(leftOut).toEqual([
    'absolute: a link to /etc/passwd, which is outside of the folder',
    'above: a link to ../secret, which is outside of the folder',
    'dir/deep/higher: a link to ../../../secret, which is outside of the folder',
    'around: a link to here/../secret, which is outside of the folder',
    'second: another name of ./absolute',
  ]);
});

it('takes over no set-user-id bit, no mode of the folder itself, and no device', async () => {
  const { folder, leftOut } = await unpacked(
    pack([
      root,
      { path: './tool', type: 'File', mode: 0o6755, content: 'x' },
      { path: './shared/', type: 'Directory', mode: 0o3755 },
      { path: './disk', type: 'BlockDevice', mode: 0o666 },
      { path: './pipe', type: 'FIFO' },
    ]),
  );
  expect(statSync(join(folder, 'tool')).mode & 0o7777).toBe(0o755);
  expect(statSync(join(folder, 'shared')).mode & 0o7777).toBe(0o755);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(leftOut).toEqual(['disk: neither a file nor a folder', 'pipe: neither a file nor a folder']);
});

it.each<[what: string, archive: Buffer]>([
  ['names a path above', pack([root, { path: './../above', type: 'File', content: 'evil' }])],
  ['is of a file in place of a folder', pack([{ path: '.', type: 'File', content: 'evil' }])],
  ['is compressed', gzipSync(pack([root, { path: './zeros', type: 'File', content: '0'.repeat(100_000) }]))],
  ['is none', Buffer.from('no archive'.repeat(100))],
])('refuses an archive that %s, and writes nothing outside', async (_what, archive) => {
  await expect(unpacked(archive)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringMatching(/^the archive of the sandbox is refused: /),
  });
  expect(existsSync(join(tmpdir(), 'above'))).toBe(false);
});

it('writes through no link of the archive', async () => {
  const trap = makeFolder();
  const archive = pack([
    root,
    { path: './out', type: 'SymbolicLink', linkpath: trap },
    { path: './out/through', type: 'File', content: 'evil' },
  ]);
  const { folder } = await unpacked(archive);
  expect(readdirSync(trap)).toEqual([]);
  expect(readFileSync(join(folder, 'out', 'through'), 'utf8')).toBe('evil');
});
