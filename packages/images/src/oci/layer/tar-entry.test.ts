import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type LayerEntry, makeTar } from '../testing/loopback-registry.ts';
import { createImageBudget, unpackLayer } from '../unpack.ts';
import { createStrangeOwners } from './owners.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skerry-names-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const unpack = (blob: Buffer): Promise<void> => {
  const digest = `sha256:${createHash('sha256').update(blob).digest('hex')}`;
  return unpackLayer({
    root,
    blob: Readable.from([blob]),
    descriptor: { digest, sizeBytes: blob.length, compression: 'none' },
    budget: createImageBudget(),
    owners: createStrangeOwners(root),
  });
};

const BLOCK = 512;

/** Puts a byte that begins no character of UTF-8 in the place of the first `#`, with the sum of a header that has it. */
const damage = (tar: Buffer): Buffer => {
  const at = tar.indexOf('#');
  tar[at] = 0xe9;
  const header = tar.subarray(at - (at % BLOCK), at - (at % BLOCK) + BLOCK);
  if (header.toString('latin1', 257, 262) === 'ustar') {
    header.fill(' ', 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  }
  return tar;
};

it.each([
  ['a name', { name: 'etc/caf#', content: 'x' }, '"etc/caf\\ufffd"'],
  ['a name in a pax header', { name: 'caf\u00e9#', content: 'x' }, '"caf\u00e9\\ufffd"'],
  ['the target of a link', { name: 'link', type: 'symlink', linkname: 'to#' }, '"to\\ufffd"'],
  ['the target of a hard link', { name: 'link', type: 'link', linkname: 'to#' }, '"to\\ufffd"'],
] satisfies [string, LayerEntry, string][])(
  'refuses %s that is not UTF-8, and shows it',
  async (_, entry, shown) => {
    await expect(unpack(damage(await makeTar([entry])))).rejects.toMatchObject({
      code: 'corrupt',
      message: `a layer has the name ${shown}, which is not UTF-8`,
    });
  },
);
