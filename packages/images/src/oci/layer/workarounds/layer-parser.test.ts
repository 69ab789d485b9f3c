import { expect, it } from 'vitest';
import { makeTar } from '../../testing/loopback-registry.ts';
import { createLayerParser } from './layer-parser.ts';

const placeholder = '#'.repeat(256);
const allBytes = String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte));

/** Makes the first header, that of a pax header for one entry, that of one for all. */
const makeGlobal = (tar: Buffer): Buffer => {
  const sum = Number.parseInt(tar.toString('latin1', 148, 154), 8) - ('x'.charCodeAt(0) - 'g'.charCodeAt(0));
  tar.write('g', 156, 'latin1');
  tar.write(sum.toString(8).padStart(6, '0'), 148, 'latin1');
  return tar;
};

const readHeaders = async (tar: Buffer): Promise<[name: string, pax: unknown][]> => {
  const parser = createLayerParser();
  parser.end(tar);
  const found: [string, unknown][] = [];
  for await (const entry of parser) {
    found.push([entry.header.name, entry.header.pax]);
    entry.resume();
  }
  return found;
};

it('reads attributes with each of their bytes, also those of a global header, and other text as UTF-8', async () => {
  const name = 'ä'.repeat(80);
  const tar = await makeTar([
    {
      name,
      content: 'x',
      pax: { 'SCHILY.xattr.user.all': placeholder, 'SCHILY.xattr.user.lines': '=\n1 2=3', comment: 'ö' },
    },
    { name: 'second', content: 'y', pax: { 'SCHILY.xattr.user.lines': '€' } },
    { name: 'third', content: 'z' },
  ]);
  const bytes = Buffer.from(tar.toString('latin1').replace(placeholder, allBytes), 'latin1');
  const first = { 'SCHILY.xattr.user.all': allBytes, 'SCHILY.xattr.user.lines': '=\n1 2=3', comment: 'ö' };
  const second = { 'SCHILY.xattr.user.lines': '\u00e2\u0082\u00ac', path: 'second' };
  expect(await readHeaders(bytes)).toEqual([
    [name, { ...first, path: name }],
    ['second', second],
    ['third', null],
  ]);
  const [, merged] = await readHeaders(makeGlobal(bytes));
  expect(merged).toEqual(['second', { ...first, ...second }]);
});

it('fails with corrupt for zeros of more than 1 MiB behind the end, and for a long global header', async () => {
  const tar = await makeTar([{ name: 'a', content: 'x' }]);
  expect(await readHeaders(Buffer.concat([tar, Buffer.alloc(2 ** 20 - 1024)]))).toHaveLength(1);
  await expect(readHeaders(Buffer.concat([tar, Buffer.alloc(2 ** 20 + 1024)]))).rejects.toMatchObject({
    ...{ code: 'corrupt', message: 'a layer goes on behind its end' },
  });
  const long = makeGlobal(await makeTar([{ name: 'a', content: 'x', pax: { comment: 'x'.repeat(5_000) } }]));
  await expect(readHeaders(long)).rejects.toMatchObject({
    ...{ code: 'corrupt', message: expect.stringContaining('a layer has a pax-global-header of 50') },
  });
});
