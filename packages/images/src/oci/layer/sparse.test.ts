import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeTar } from '../testing/loopback-registry.ts';
import { createImageBudget, unpackLayer } from '../unpack.ts';
import { createStrangeOwners } from './owners.ts';

let folder: string;
let root: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-sparse-'));
  root = join(folder, 'root');
  for (const name of ['root', 'from', 'from/dir']) mkdirSync(join(folder, name));
});
afterEach(() => rmSync(folder, { recursive: true }));

const unpack = (blob: Buffer, sizeBytes = 2 ** 30): Promise<void> =>
  unpackLayer({
    root,
    // Pieces that end within blocks.
    blob: Readable.from(
      Array.from({ length: Math.ceil(blob.length / 700) }, (_, i) => blob.subarray(i * 700, (i + 1) * 700)),
    ),
    descriptor: {
      digest: `sha256:${createHash('sha256').update(blob).digest('hex')}`,
      sizeBytes: blob.length,
      compression: 'none',
    },
    budget: { ...createImageBudget(), sizeBytes },
    owners: createStrangeOwners(root),
  });

const SIZE_BYTES = 40 * 2 ** 20;
/** Makes a file with pieces in the order of `offsets`, and holes between and after them. */
const makeFile = (name: string, offsets: readonly number[]): string => {
  const path = join(folder, 'from', name);
  const file = openSync(path, 'w', 0o640);
  for (const offset of offsets) writeSync(file, `piece at ${offset}`, offset);
  ftruncateSync(file, SIZE_BYTES);
  closeSync(file);
  return path;
};
const packWithTar = (...options: string[]): Buffer =>
  execFileSync('tar', ['--sparse', ...options, '-C', join(folder, 'from'), '-cf', '-', '.'], {
    maxBuffer: 2 ** 30,
  });

it.each([['1.0'], ['0.1']])(
  'unpacks sparse files of GNU tar in form %s with their holes',
  async (version) => {
    const many = Array.from({ length: 200 }, (_, index) => index * 2 ** 17 + 4096);
    const files = {
      few: makeFile('few', [0, 8 * 2 ** 20 + 123]),
      'dir/many': makeFile('dir/many', many),
      empty: makeFile('empty', []),
      [`dir/${'long'.repeat(60)}`]: makeFile(`dir/${'long'.repeat(60)}`, [2 ** 20]),
    };
    await unpack(packWithTar('--format=pax', `--sparse-version=${version}`));
    for (const [name, original] of Object.entries(files)) {
      const path = join(root, name);
      expect(readFileSync(path).equals(readFileSync(original)), name).toBe(true);
      const { size, mode, blocks } = statSync(path);
      expect([size, mode & 0o7777]).toEqual([SIZE_BYTES, 0o640]);
      expect(blocks * 512).toBeLessThan(2 * 2 ** 20);
    }
  },
);

it('counts holes as part of an image', async () => {
  makeFile('few', [0]);
  await expect(unpack(packWithTar('--format=pax'), SIZE_BYTES - 1)).rejects.toMatchObject({
    code: 'too_large',
  });
});

it('refuses the forms whose list tar has elsewhere', async () => {
  makeFile('few', [0, 2 ** 20]);
  await expect(unpack(packWithTar('--format=pax', '--sparse-version=0.0'))).rejects.toThrow(
    /few is stored sparse in a form that is not read/,
  );
  await expect(unpack(packWithTar('--format=gnu'))).rejects.toThrow(
    /few is of a kind that layers must not use/,
  );
});

const block = (...lines: (number | string)[]): string => `${lines.join('\n')}\n`.padEnd(512, '\0');
it.each([
  ['a piece beyond its end', '10', `${block(1, 8, 4)}abcd`],
  ['pieces out of order', '10', `${block(2, 4, 2, 0, 2)}abcd`],
  ['more content than pieces', '10', `${block(1, 0, 2)}abcd`],
  ['less content than pieces', '10', `${block(1, 0, 4)}ab`],
  ['a list without an end', '10', block(2, 0, 4)],
  ['too many pieces', '10', block(100_001)],
  ['a negative number', '10', `${block(1, -1, 2)}ab`],
  ['a number without an end', '10', '1'.repeat(512)],
  ['no list', '10', ''],
  ['a size that is no number', 'ten', `${block(1, 0, 2)}ab`],
])('refuses a sparse file with %s', async (_what, realsize, content) => {
  const pax = {
    'GNU.sparse.major': '1',
    'GNU.sparse.minor': '0',
    'GNU.sparse.name': 'file',
    'GNU.sparse.realsize': realsize,
  };
  const tar = await makeTar([{ name: 'GNUSparseFile.1/file', content, pax }]);
  await expect(unpack(tar)).rejects.toMatchObject({
    code: 'corrupt',
    message: 'file is stored sparse with a list of its pieces that is wrong',
  });
});

it('resolves the real name of a sparse file within the image', async () => {
  const pax = {
    'GNU.sparse.major': '1',
    'GNU.sparse.minor': '0',
    'GNU.sparse.name': '../outside',
    'GNU.sparse.realsize': '4',
  };
  const tar = await makeTar([{ name: 'GNUSparseFile.1/file', content: `${block(1, 0, 4)}abcd`, pax }]);
  await expect(unpack(tar)).rejects.toMatchObject({ code: 'unsafe' });
});
