// A layer of more entries than an image may have. It takes seconds of the processor until the limit is reached.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeArchive } from '../templates/archive.ts';
import { type FaultyRegistry, startFaultyRegistry, tarType } from '../templates/faulty-registry.ts';
import { createTemplateBuilds, messagesOf } from '../templates/template-builds.ts';

let stack: Stack;
let registry: FaultyRegistry;
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-crowded-'));
const { build } = createTemplateBuilds(() => stack);
beforeAll(async () => {
  registry = await startFaultyRegistry();
  stack = await startStack({ dataDir, args: ['--registry', registry.host] });
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true, force: true });
});

const MEMBER_ENTRIES = 4_000;
/** The blocks of zeros that end an archive. */
const END_BYTES = 1_024;

/** A layer of `count` entries, pipes and at the end a file: members of gzip, which are the same but the last. */
const makeLayer = async (count: number): Promise<Buffer> => {
  const entries = Array.from({ length: MEMBER_ENTRIES }, () => ({ name: 'pipe', type: 'fifo' as const }));
  const archive = await makeArchive(entries);
  const member = gzipSync(archive.subarray(0, archive.length - END_BYTES));
  const members = Array.from({ length: count / MEMBER_ENTRIES - 1 }, () => member);
  const rest = await makeArchive([...entries.slice(1), { name: 'last', content: 'x' }]);
  return Buffer.concat([...members, gzipSync(rest)]);
};

it('a build from a layer with more than a million entries fails with that reason and keeps nothing, and one with a million does not', async () => {
  const toImage = async (count: number) => ({
    layers: [{ bytes: await makeLayer(count), mediaType: `${tarType}+gzip` }],
  });
  const failed = await build('over', { fromImage: registry.serve('over', await toImage(1_004_000)) });
  const message = expect.stringContaining('the image has more than 1,000,000 entries');
  expect(failed).toMatchObject({ status: 'error', reason: { message, step: 'base' } });
  expect(messagesOf(failed)).toContainEqual(message);
  for (const folder of ['templates', 'layers'])
    await expect.poll(() => readdirSync(join(dataDir, folder))).toEqual([]);
  const done = await build('most', { fromImage: registry.serve('most', await toImage(1_000_000)) });
  expect(done.reason).toBeUndefined();
});
